import { findRun, insertRun, removeUnstartedRun, type NewRun } from '../../database/tasks/task-runs.ts';
import { isDuplicate } from '../../database/common/outage.ts';
import { roomOf } from '../../domain/tasks/task-run.ts';
import { rehearsalOf } from '../../domain/tasks/task-metadata.ts';
import { callbackSecretPlace } from '../../security/sealing.ts';
import { EngineUncertain } from '../../temporal/task-control.ts';
import type { Dependencies } from '../dependencies.ts';
import { unavailable } from '../http/problem.ts';
import type { Claim } from '../http/route.ts';
import { statusUrl } from './presenter.ts';

/** A run that was taken in, as its caller is told (docs/http-api.md). */
export type TakenIn = {
  execution_id: string;
  status_url: string;
  websocket_room: string;
  callback_secret: string;
};

/** A run that is about to be stored; `secret` is what its callbacks are signed with. */
export type RunToTakeIn = {
  run: Omit<NewRun, 'callback_secret'>;
  secret: string;
  claim: Claim | null;
  /** What else must be stored before the workflow starts; may be done twice. */
  beforeStart?: () => Promise<void>;
};

/**
 * Stores a run and starts its workflow: first the row, then the workflow. A start that certainly failed takes the row
 * back; so does one that stays uncertain, since a workflow without a row ends itself. Only a crash between the two
 * leaves a row, which the reconciler takes up.
 * @throws Problem `unavailable` where Temporal does not take it
 */
export async function takeIn(
  deps: Dependencies,
  { run, secret, claim, beforeStart }: RunToTakeIn,
): Promise<TakenIn> {
  let shown = secret;
  try {
    const sealed = deps.sealing.seal(secret, callbackSecretPlace(run.id));
    await insertRun(deps.database, { ...run, callback_secret: sealed });
  } catch (error) {
    // Only a claimed id can be there already: the process that claimed it died after this point.
    if (!claim || !isDuplicate(error)) throw error;
    shown = await secretOfEarlier(deps, run.id);
  }
  await beforeStart?.();
  await startRun(deps, run);
  const url = statusUrl(deps.baseUrl, run.id);
  return { execution_id: run.id, status_url: url, websocket_room: roomOf(run.id), callback_secret: shown };
}

async function startRun(deps: Dependencies, run: RunToTakeIn['run']): Promise<void> {
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
    if (error instanceof EngineUncertain && (await settled(deps, run.id))) return;
    // One that has begun in spite of all (the reconciler may have started it meanwhile) is taken in.
    if (await removeUnstartedRun(deps.database, run.id)) throw unavailable('Temporal', error);
  }
}

/** True where the workflow of an uncertain start is there. */
async function settled(deps: Dependencies, id: string): Promise<boolean> {
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
  return deps.sealing.open(row.callback_secret, callbackSecretPlace(id));
}
