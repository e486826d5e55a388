import { findRun, insertRun, removeUnstartedRun, type NewRun } from '../../database/tasks/task-runs.ts';
import { isDuplicate } from '../../database/common/outage.ts';
import { roomOf } from '../../domain/tasks/task-run.ts';
import { rehearsalOf } from '../../domain/tasks/task-metadata.ts';
import { callbackSecretContext } from '../../security/sealing.ts';
import { EngineUncertain } from '../../temporal/task-control.ts';
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
  /** Stores more before the workflow starts; can be called twice. */
  beforeStart?: () => Promise<void>;
};

/**
 * Stores a run, then starts its workflow. If the start fails or stays uncertain, the row is deleted: a workflow
 * without a row ends itself. A crash between the two leaves a row, which the reconciler starts.
 * @throws Problem `unavailable` if Temporal does not accept the start
 */
export async function acceptRun(
  deps: Dependencies,
  { run, secret, claim, beforeStart }: RunToAccept,
): Promise<AcceptedRun> {
  let shown = secret;
  try {
    const sealed = deps.sealing.seal(secret, callbackSecretContext(run.id));
    await insertRun(deps.database, { ...run, callback_secret: sealed });
  } catch (error) {
    // Only a claimed id can exist already: the process that claimed it crashed after storing the run.
    if (!claim || !isDuplicate(error)) throw error;
    shown = await secretOfEarlier(deps, run.id);
  }
  await beforeStart?.();
  await startRun(deps, run);
  const url = statusUrl(deps.baseUrl, run.id);
  return { execution_id: run.id, status_url: url, websocket_room: roomOf(run.id), callback_secret: shown };
}

async function startRun(deps: Dependencies, run: RunToAccept['run']): Promise<void> {
  try {
    await deps.control.start({
      id: run.id,
      workspaceId: run.workspace_id,
      projectId: run.project_id,
      title: run.title,
      taskType: run.task_type,
      rehearsal: rehearsalOf(run.metadata),
      hasCallback: run.callback_url !== null && run.callback_url !== undefined,
      hasPlan: run.plan !== undefined,
      createdAt: run.created_at,
    });
  } catch (error) {
    if (error instanceof EngineUncertain && (await hasStarted(deps, run.id))) return;
    // A run that was started after all, for example by the reconciler, counts as accepted.
    if (await removeUnstartedRun(deps.database, run.id)) throw unavailable('Temporal', error);
  }
}

/** Returns true if an uncertain start did start the workflow. */
async function hasStarted(deps: Dependencies, id: string): Promise<boolean> {
  try {
    return (await deps.control.confirmStart(id)) === 'started';
  } catch (error) {
    deps.log.warn({ err: error, execution_id: id }, 'resolving an uncertain start failed');
    return false;
  }
}

async function secretOfEarlier(deps: Dependencies, id: string): Promise<string> {
  const row = await findRun(deps.database, id);
  if (!row) throw unavailable('PostgreSQL');
  return deps.sealing.open(row.callback_secret, callbackSecretContext(id));
}
