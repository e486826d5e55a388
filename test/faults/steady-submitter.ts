import { setTimeout as wait } from 'node:timers/promises';
import type { Receiver } from '../support/receiver.ts';
import type { Service } from '../support/service.ts';
import { SHORT } from './mixed-tasks.ts';
import type { SubmittedTask } from './service-runs.ts';

/** The outcome of one submission. `cut`: no response. */
export type SubmitOutcome = { mark: string } & (
  | { outcome: 'taken'; task: SubmittedTask }
  | { outcome: 'refused'; status: number; retryAfter: string | null }
  | { outcome: 'cut' }
);

const INTERVAL_MS = 150;

/** Submits short tasks, even after failures, until `stop` is called. */
export function submitSteadily(
  service: Service,
  receiver: Receiver,
): { stop(): Promise<SubmitOutcome[]>; outcomes(): readonly SubmitOutcome[] } {
  const outcomes: SubmitOutcome[] = [];
  const pending: Promise<void>[] = [];
  let isStopped = false;

  async function submitOne(mark: string): Promise<SubmitOutcome> {
    const answered = await service
      .submit({ callback_url: receiver.url, metadata: { mark, rehearsal: SHORT.rehearsal } })
      .catch(() => null);
    if (answered === null) return { mark, outcome: 'cut' };
    const { status, json, headers } = answered;
    if (status !== 201) return { mark, outcome: 'refused', status, retryAfter: headers.get('retry-after') };
    return {
      mark,
      outcome: 'taken',
      task: { id: json.execution_id, secret: json.callback_secret, script: SHORT },
    };
  }

  async function submitAll(): Promise<void> {
    for (let number = 1; !isStopped; number++) {
      pending.push(submitOne(`steady-${number}`).then((outcome) => void outcomes.push(outcome)));
      await wait(INTERVAL_MS);
    }
  }
  const submitting = submitAll();
  return {
    outcomes: () => outcomes,
    async stop() {
      isStopped = true;
      await submitting;
      await Promise.all(pending);
      return outcomes;
    },
  };
}
