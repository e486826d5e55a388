import type * as real from '../../../src/database/tasks/callbacks.ts';
import type {
  BegunAttempt,
  CallbackAttemptRow,
  EndedAttempt,
} from '../../../src/database/tasks/callbacks.ts';
import { MAX_LISTED_ATTEMPTS } from '../../../src/domain/common/limits.ts';
import { triggerOf } from '../../../src/domain/tasks/callback.ts';
import type { FeedEntry } from '../../../src/domain/tasks/feed-events.ts';
import { addEvents, attemptsOf, runsWhere, statement, type RunRow } from './tables.ts';

/* Replaces `src/database/tasks/callbacks.ts`. */

const UNKNOWN_END = 'the result of this attempt could not be recorded';

const isAwaited = ({ callback_status: status, callback_retry_id: id }: RunRow, retryId: string | null) =>
  retryId === null ? status === 'pending' : id === retryId;

const newest = (attempts: readonly CallbackAttemptRow[]) => attempts.slice(-MAX_LISTED_ATTEMPTS);

const isUnended = ({ completed_at: at }: CallbackAttemptRow) => at === null || at === undefined;

function interrupt(attempts: readonly CallbackAttemptRow[], at: Date): void {
  const end = { failure: 'interrupted', message: UNKNOWN_END, completed_at: at } as const;
  for (const attempt of attempts.filter(isUnended)) Object.assign(attempt, end);
}

export const listCallbackAttempts: typeof real.listCallbackAttempts = statement(
  'listCallbackAttempts',
  (tables, executionId: string) => newest(attemptsOf(tables, executionId)),
);

export const listBriefCallbackAttempts: typeof real.listBriefCallbackAttempts = statement(
  'listBriefCallbackAttempts',
  (tables, executionId: string) => newest(attemptsOf(tables, executionId)),
);

export const beginAttempt: typeof real.beginAttempt = statement(
  'beginAttempt',
  (tables, begun: BegunAttempt, earlier: number): number | null => {
    const { retryId, ...request } = begun;
    const row = tables.runs.get(begun.execution_id);
    if (!row || !isAwaited(row, retryId)) return null;
    const own = attemptsOf(tables, row.id);
    if ((own.at(-1)?.attempt ?? 0) !== earlier) return null;
    interrupt(own, begun.attempted_at);
    own.push({ ...request, attempt: earlier + 1, trigger: triggerOf(retryId), ...UNENDED });
    return earlier + 1;
  },
);

/** The columns of an attempt without an end. */
const UNENDED = {
  response_status: null,
  response_headers: null,
  response_body: null,
  failure: null,
  message: null,
  address: null,
  duration_ms: null,
  completed_at: null,
  next_attempt_at: null,
  reconnected: false,
};

export const findBegunAttempt: typeof real.findBegunAttempt = statement(
  'findBegunAttempt',
  (tables, id: string): number | null =>
    [...tables.attempts.values()].flat().find((one) => one.id === id && isUnended(one))?.attempt ?? null,
);

type Ending = { id: string; executionId: string; ended: EndedAttempt; entry: FeedEntry };

export const endAttempt: typeof real.endAttempt = statement(
  'endAttempt',
  (tables, { id, executionId, ended, entry }: Ending, finalStatus: 'delivered' | 'failed' | null): void => {
    const row = tables.runs.get(executionId);
    const attempt = attemptsOf(tables, executionId).find((one) => one.id === id && isUnended(one));
    if (!row || !attempt) return;
    Object.assign(attempt, ended);
    const isManual = attempt.trigger === 'manual';
    addEvents(tables, row, [entry]);
    row.view_seq = row.last_seq;
    if (finalStatus && (row.callback_status === 'pending' || isManual)) row.callback_status = finalStatus;
    if (isManual) row.callback_retry_id = null;
  },
);

export const withdrawAttempt: typeof real.withdrawAttempt = statement(
  'withdrawAttempt',
  (tables, { id, executionId }: { id: string; executionId: string }): void => {
    const kept = attemptsOf(tables, executionId).filter((one) => one.id !== id || !isUnended(one));
    tables.attempts.set(executionId, kept);
  },
);

export const findPendingCallback: typeof real.findPendingCallback = statement(
  'findPendingCallback',
  (tables, id: string, given?: string | null): real.PendingCallback | null => {
    const retryId = given ?? null;
    const row = tables.runs.get(id);
    if (!row || !isAwaited(row, retryId)) return null;
    const { state, callback_secret, callback_url: url, callback_body: body, completed_at: completedAt } = row;
    if (!completedAt || !url || !body) return null;
    const last = attemptsOf(tables, id).at(-1);
    return {
      id,
      retryId,
      state,
      callback_secret,
      url,
      body,
      completedAt,
      attempts: last?.attempt ?? 0,
      last: last
        ? {
            attemptedAt: last.attempted_at,
            endedAt: last.completed_at ?? null,
            nextAttemptAt: last.next_attempt_at ?? null,
            message: last.message ?? null,
          }
        : null,
    };
  },
);

export const giveUpCallback: typeof real.giveUpCallback = statement(
  'giveUpCallback',
  (tables, executionId: string, at: Date, given?: string | null): void => {
    const retryId = given ?? null;
    const row = tables.runs.get(executionId);
    if (!row || !isAwaited(row, retryId)) return;
    const own = attemptsOf(tables, executionId);
    const attempt = 1 + own.filter((one) => !isUnended(one)).length;
    interrupt(own, at);
    const data = {
      attempt,
      trigger: triggerOf(retryId),
      outcome: 'failed',
      response_status: null,
      failure: 'interrupted',
      message: UNKNOWN_END,
      duration_ms: null,
      next_attempt_at: null,
    };
    const key = retryId === null ? 'callback.given-up' : `callback.given-up:${retryId}`;
    addEvents(tables, row, [{ key, type: 'callback.attempted', at: at.toISOString(), data }]);
    Object.assign(row, { view_seq: row.last_seq, callback_status: 'failed', callback_retry_id: null });
  },
);

export const requestCallbackRetry: typeof real.requestCallbackRetry = statement(
  'requestCallbackRetry',
  (tables, { executionId, retryId }: { executionId: string; retryId: string }): boolean => {
    const row = tables.runs.get(executionId);
    const isAllowed = row?.callback_status === 'failed' && !row.callback_retry_id && row.callback_body;
    if (!row || !isAllowed) return false;
    row.callback_retry_id = retryId;
    return true;
  },
);

export const listCallbackRetries: typeof real.listCallbackRetries = statement(
  'listCallbackRetries',
  (tables, limit: number) =>
    runsWhere(tables, ({ callback_retry_id: id }) => Boolean(id))
      .map(({ id, callback_retry_id: retryId }) => ({ executionId: id, retryId: retryId ?? '' }))
      .toSorted((one, other) => (one.retryId < other.retryId ? -1 : 1))
      .slice(0, limit),
);
