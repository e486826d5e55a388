import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { DEFAULT_TASK_TYPE } from '../../domain/task-run.ts';
import { roomOf } from '../../domain/task-run.ts';
import { findProject } from '../../database/projects.ts';
import { isDuplicate } from '../../database/outage.ts';
import { findRun, insertRun, removeUnstartedRun, type NewRun } from '../../database/task-runs.ts';
import { derivedUuid } from '../../ids/derived-uuid.ts';
import { callbackSecretPlace } from '../../security/sealing.ts';
import { EngineUncertain } from '../../workflows/control.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { Problem, unavailable } from '../http/problem.ts';
import type { Answer, Claim } from '../http/route.ts';
import { rehearsalOf } from '../../domain/task-metadata.ts';
import { statusUrl } from './presenter.ts';
import type { Submission } from '../../domain/task-submission.ts';

/**
 * Takes a task in: first its row, then its workflow, then 201. A start that certainly failed takes the row back;
 * so does one that stays uncertain, since a workflow without a row ends itself. Only a crash between the two
 * leaves a row, which the reconciler takes up.
 */
export async function submitTask(
  deps: Dependencies,
  caller: Caller,
  body: Submission,
  claim: Claim | null,
): Promise<Answer> {
  await checkProject(deps, caller, body.project_id);
  const secret = randomBytes(32).toString('hex');
  const run = newRun(deps, caller, body, claim, secret);
  let shown = secret;
  try {
    await insertRun(deps.database, run);
  } catch (error) {
    // Only a claimed id can be there already: the process that claimed it died after this point.
    if (!claim || !isDuplicate(error)) throw error;
    shown = await secretOfEarlier(deps, run.id);
  }
  await startRun(deps, run, body);
  return answerOf(deps, run.id, shown);
}

/**
 * @throws Problem `project_not_allowed`, the same whether the project exists or not
 */
async function checkProject(deps: Dependencies, caller: Caller, projectId: string): Promise<void> {
  if (caller.kind !== 'person' && caller.projectId === projectId) return;
  const project = caller.kind === 'person' ? await findProject(deps.database, projectId) : null;
  if (project?.workspace_id === caller.workspaceId) return;
  throw new Problem('project_not_allowed', 'The project is not one that this credential may use.');
}

function newRun(
  deps: Dependencies,
  caller: Caller,
  body: Submission,
  claim: Claim | null,
  secret: string,
): NewRun {
  const id = claim ? idOfClaim(claim) : randomUUIDv7();
  return {
    id,
    workspace_id: caller.workspaceId,
    project_id: body.project_id,
    created_by: caller.actor,
    title: body.title,
    description: body.description ?? null,
    task_type: body.task_type ?? DEFAULT_TASK_TYPE,
    metadata: body.metadata ?? {},
    callback_url: body.callback_url ?? null,
    callback_secret: deps.sealing.seal(secret, callbackSecretPlace(id)),
    created_at: deps.clock(),
  };
}

async function startRun(deps: Dependencies, run: NewRun, body: Submission): Promise<void> {
  try {
    await deps.control.start({
      id: run.id,
      workspaceId: run.workspace_id,
      projectId: run.project_id,
      title: run.title,
      taskType: run.task_type,
      rehearsal: rehearsalOf(body.metadata),
      hasCallback: run.callback_url !== null && run.callback_url !== undefined,
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
    return (await deps.control.settleStart(id)) === 'started';
  } catch (error) {
    deps.log.warn({ err: error, execution_id: id }, 'an uncertain start could not be settled');
    return false;
  }
}

function answerOf(deps: Dependencies, id: string, secret: string): Answer {
  const url = statusUrl(deps.baseUrl, id);
  return {
    status: 201,
    headers: { Location: url },
    body: { execution_id: id, status_url: url, websocket_room: roomOf(id), callback_secret: secret },
  };
}

async function secretOfEarlier(deps: Dependencies, id: string): Promise<string> {
  const row = await findRun(deps.database, id);
  if (!row) throw unavailable('PostgreSQL');
  return deps.sealing.open(row.callback_secret, callbackSecretPlace(id));
}

/**
 * The execution id that belongs to a claimed idempotency key: whoever takes over after a crash comes to the same run.
 */
export function idOfClaim({ scope, key, claimedAt }: Claim): string {
  return derivedUuid(claimedAt, `${scope}:${claimedAt.getTime()}:${key}`);
}
