import type { Role } from './access.ts';

/** What people are told of in the screens and by mail, and from which role on. */
export const NOTICES = {
  'webhook.disabled': { subject: 'webhook', least: 'admin' },
  'task.escalated': { subject: 'task', least: 'member' },
} as const satisfies Record<string, { subject: string; least: Role }>;
export type NoticeKind = keyof typeof NOTICES;

/** One thing that people are told of; all notices of it have its time. */
export type Occasion = { kind: NoticeKind; id: string; at: Date };

/** What the notices of an occasion name as their subject, for example `webhook:<id>`. */
export function subjectOf({ kind, id }: Pick<Occasion, 'kind' | 'id'>): string {
  return `${NOTICES[kind].subject}:${id}`;
}
