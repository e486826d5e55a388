/** A notification as the API returns it. */
export type Notice = {
  id: string;
  kind: string;
  subject: string;
  detail: Readonly<Record<string, unknown>>;
  created_at: string;
  read_at: string | null;
  open: boolean;
};

/** Open notifications about runs beyond this number are shown as one row. */
export const MAX_SINGLE_RUNS = 3;

/** What the bell shows in one row: a notification, or that many runs need a person. */
export type BellRow =
  | { kind: 'notice'; notice: Notice }
  | { kind: 'runs'; asked: number; escalated: number; isUnread: boolean };

/** Returns the rows of the bell: open notifications about many runs together first, then the others, newest first. */
export function bellRows(notices: readonly Notice[], limit: number): BellRow[] {
  const runs = notices.filter(
    ({ kind, open }) => open && (kind === 'task.asked' || kind === 'task.escalated'),
  );
  const grouped = runs.length > MAX_SINGLE_RUNS ? runs : [];
  const rows = notices
    .filter((notice) => !grouped.includes(notice))
    .map((notice): BellRow => ({ kind: 'notice', notice }));
  if (grouped.length === 0) return rows.slice(0, limit);
  const asked = grouped.filter(({ kind }) => kind === 'task.asked').length;
  const group = { asked, escalated: grouped.length - asked, isUnread: grouped.some(isUnread) };
  return [{ kind: 'runs' as const, ...group }, ...rows].slice(0, limit);
}

/** Returns whether a notification counts as unread: nobody needs to read about what is done. */
export function isUnread({ read_at, open }: Notice): boolean {
  return read_at === null && open;
}

/** Returns `41 runs need a person`. `hasMore`: there are older notifications that were not counted. */
export function runsTitle(
  { asked, escalated }: { asked: number; escalated: number },
  hasMore: boolean,
): string {
  return `${asked + escalated}${hasMore ? ' or more' : ''} runs need a person`;
}

/** Returns `12 wait for an answer, 29 were escalated`. */
export function runsDetail({ asked, escalated }: { asked: number; escalated: number }): string {
  const waiting = asked > 0 ? [`${asked} ${asked === 1 ? 'waits' : 'wait'} for an answer`] : [];
  const decisions = escalated > 0 ? [`${escalated} ${escalated === 1 ? 'was' : 'were'} escalated`] : [];
  return [...waiting, ...decisions].join(', ');
}

/** Returns the title of a notification, and the reason or the question. */
export function noticeText({ kind, open, detail }: Notice): { title: string; detail: string } {
  const textOf = (name: string) => (typeof detail[name] === 'string' ? detail[name] : '');
  const named = (name: string, otherwise: string) => (textOf(name) ? `“${textOf(name)}”` : otherwise);
  const task = named('title', 'A task');
  switch (kind) {
    case 'webhook.disabled':
      return {
        title: `${named('name', 'A webhook')} was disabled after repeated failures`,
        detail: textOf('reason'),
      };
    case 'task.escalated':
      return { title: `${task} ${open ? 'needs your decision' : 'was escalated'}`, detail: textOf('reason') };
    case 'task.asked':
      return {
        title: `${task} ${open ? 'waits for your answer' : 'asked a question'}`,
        detail: textOf('question'),
      };
    default:
      return { title: kind, detail: '' };
  }
}
