import { findRun, insertRun, type NewRun } from '../../database/tasks/task-runs.ts';
import { isDuplicate } from '../../database/common/outage.ts';
import { roomOf } from '../../domain/tasks/task-run.ts';
import { callbackSecretContext } from '../../security/sealing.ts';
import { runToStart } from '../../temporal/task-control.ts';
import type { Dependencies } from '../dependencies.ts';
import { unavailable } from '../http/problem.ts';
import type { Claim } from '../http/route.ts';
import { statusUrl } from './presenter.ts';

/** The response to an accepted run (docs/http-api.md). */
export type AcceptedRun = {
  execution_id: string;
  status_url: string;
  websocket_room: string;
  callback_secret: string;
};

/** A run to store. `secret` signs its callbacks. */
export type RunToAccept = {
  run: Omit<NewRun, 'callback_secret'>;
  secret: string;
  claim: Claim | null;
  /** Stores the run; {@link insertRun} if omitted. */
  store?: (run: NewRun) => Promise<void>;
};

/**
 * Stores a run and has its workflow started. It is accepted once it is stored: if the start fails, or this process
 * crashes, the reconciler starts it.
 * @throws Problem `unavailable` if PostgreSQL is unavailable, or too much waits for Temporal
 */
export async function acceptRun(
  deps: Dependencies,
  { run, secret, claim, store = (row) => insertRun(deps.database, row) }: RunToAccept,
): Promise<AcceptedRun> {
  await deps.admission.admit('tasks', 1);
  let shown = secret;
  try {
    const sealed = deps.sealing.seal(secret, callbackSecretContext(run.id));
    await store({ ...run, callback_secret: sealed });
  } catch (error) {
    // Only a claimed id can exist already: the process that claimed it crashed after storing the run.
    if (!claim || !isDuplicate(error)) throw error;
    shown = await secretOfEarlier(deps, run.id);
  }
  deps.runStarter.add(runToStart(run, run.plan !== undefined));
  const url = statusUrl(deps.baseUrl, run.id);
  return { execution_id: run.id, status_url: url, websocket_room: roomOf(run.id), callback_secret: shown };
}

async function secretOfEarlier(deps: Dependencies, id: string): Promise<string> {
  const row = await findRun(deps.database, id);
  if (!row) throw unavailable('PostgreSQL');
  return deps.sealing.open(row.callback_secret, callbackSecretContext(id));
}
