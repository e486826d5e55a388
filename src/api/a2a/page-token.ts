import type { Position } from '../../database/tasks/find-runs.ts';

/** The form of a page token of `ListTasks`: the time and the id of the last task that was read. */
export const PAGE_TOKEN = /^(?<ms>\d{1,13})_(?<id>[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/;

/** Returns the token of the page after a position; empty if there is none. */
export function pageTokenOf(position: Position | null): string {
  return position?.at ? `${position.at.getTime()}_${position.id}` : '';
}

/** Returns the position in a token; null if it is empty. */
export function positionOfToken(token: string): Position | null {
  const { ms, id } = PAGE_TOKEN.exec(token)?.groups ?? {};
  return id === undefined ? null : { id, at: new Date(Number(ms)) };
}
