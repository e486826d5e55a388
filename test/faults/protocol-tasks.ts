import { setTimeout as wait } from 'node:timers/promises';
import type { Rehearsal } from '../../src/domain/tasks/rehearsal.ts';
import type { TerminalState } from '../../src/domain/tasks/task-states.ts';

/** What a caller does with its task, and how the task ends then. */
export type Plan = { rehearsal: Rehearsal; answer?: string; cancels?: boolean; end: TerminalState };

/** A submission under a mark, which is its idempotency key as well. */
export type PlannedTask = { mark: string; title: string; plan: Plan };

/** What a caller sees of its task. `question`: the id of the open question. */
export type Seen = { isOver: boolean; question: string | null };

/** One caller of one task over a protocol. Each call makes one attempt. */
export type TaskCaller = {
  submit(): Promise<string>;
  /** Yields what the caller sees, until the task is over or the connection breaks. */
  follow(id: string): AsyncGenerator<Seen, void, undefined>;
  answer(id: string, question: string, text: string): Promise<unknown>;
  cancel(id: string): Promise<unknown>;
  /** Returns whether a request was refused for now: the service is unavailable, or the same request is in progress. */
  isTemporary(error: Error): boolean;
};

const RETRY_MS = 300;
const LIMIT_MS = 300_000;
const QUESTION = 'Which colour?';

/** The plans, in turn: complete, fail, escalate, be answered, be cancelled. */
export const PLANS: readonly Plan[] = [
  { rehearsal: { steps: 4, step_ms: 900, progress_events: 3 }, end: 'completed' },
  { rehearsal: { steps: 2, step_ms: 500, unrecoverable: { step: 2 } }, end: 'failed' },
  {
    rehearsal: { steps: 2, step_ms: 500, escalate: { step: 2, reason: 'A person must decide.' } },
    end: 'escalated',
  },
  {
    rehearsal: { steps: 2, step_ms: 500, ask: { step: 2, question: QUESTION } },
    answer: 'Green',
    end: 'completed',
  },
  { rehearsal: { steps: 2, step_ms: 60_000 }, cancels: true, end: 'cancelled' },
];

/** What a caller is told about its task, and what can end it. */
export type Watch = {
  onAccepted(): void;
  /** Called before each attempt, with what it is for and the failure of the one before. */
  onAttempt(what: string, failure: Error | null): void;
  signal: AbortSignal;
};

/**
 * Submits a task, follows it to its end, answers its question or cancels it. Repeats requests without a response, and those
 * that were refused for now. Returns the id of the task. @throws any other failure, the last one after five minutes, and
 * the reason of `signal` when it is aborted
 */
export async function runTask(
  caller: TaskCaller,
  { mark, plan }: PlannedTask,
  { onAccepted, onAttempt, signal }: Watch,
): Promise<string> {
  const until = Date.now() + LIMIT_MS;

  async function repeated<T>(what: string, attempt: () => Promise<T | null>): Promise<T> {
    let failure: Error | null = null;
    for (; ; await wait(RETRY_MS)) {
      onAttempt(what, failure);
      const done = await attempt().catch((error: Error) => {
        if (!isBroken(error) && !caller.isTemporary(error))
          throw new Error(`${mark} is not ${what}: ${error.message}`, { cause: error });
        failure = error;
        return null;
      });
      if (done !== null) return done;
      signal.throwIfAborted();
      if (Date.now() > until) throw new Error(`${mark} is not ${what} in time`);
    }
  }

  const id = await repeated('accepted', () => caller.submit());
  onAccepted();
  await repeated('over', async () => {
    for await (const { isOver, question } of caller.follow(id)) {
      if (isOver) return true;
      if (question !== null && plan.answer !== undefined) {
        const { answer } = plan;
        await repeated('answered', () => caller.answer(id, question, answer));
      }
      if (plan.cancels) await repeated('cancelled', () => caller.cancel(id));
    }
    return null;
  });
  return id;
}

/** Returns whether a connection failed, so that there is no response or only a part of one. */
function isBroken(error: Error): boolean {
  return /^(fetch failed|terminated)$/.test(error.message);
}
