import type { Role } from './access.ts';

/** Kinds of notices in the screens and by mail, and the lowest role that receives them. */
export const NOTICES = {
  'webhook.disabled': { subject: 'webhook', least: 'admin' },
  'task.escalated': { subject: 'task', least: 'member' },
  'task.asked': { subject: 'task', least: 'member' },
} as const satisfies Record<string, { subject: string; least: Role }>;
export type NoticeKind = keyof typeof NOTICES;
/** Kinds of notices about runs that need a person. */
export type RunNoticeKind = Exclude<NoticeKind, 'webhook.disabled'>;

/** An occurrence that people are notified of. All its notices have the same time. */
export type Occasion = { kind: NoticeKind; id: string; at: Date };

/** Returns the subject of the notices of an occasion, for example `webhook:<id>`. */
export function subjectOf({ kind, id }: Pick<Occasion, 'kind' | 'id'>): string {
  return `${NOTICES[kind].subject}:${id}`;
}
