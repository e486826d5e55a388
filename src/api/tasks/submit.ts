import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { findProject } from '../../database/people/projects.ts';
import { fieldSpan, orderedJson } from '../../domain/common/json-spans.ts';
import { DEFAULT_TASK_TYPE } from '../../domain/tasks/task-run.ts';
import type { Submission } from '../../domain/tasks/task-submission.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { Problem } from '../http/problem.ts';
import type { RouteResponse, Claim } from '../http/route.ts';
import { idOfClaim } from '../http/idempotency.ts';
import { hostProblems } from '../http/url-host.ts';
import { acceptRun, type RunToAccept } from './accept.ts';

/** Accepts a task and returns 201. `text` is the body as it was sent. */
export async function submitTask(
  deps: Dependencies,
  caller: Caller,
  { body, text, claim }: { body: Submission; text: string; claim: Claim | null },
): Promise<RouteResponse> {
  checkCallbackAddress(deps, body.callback_url);
  await checkProject(deps, caller, body.project_id);
  const run = newRun(deps, caller, { ...body, metadata: metadataText(text) }, claim);
  const taken = await acceptRun(deps, { run, secret: newSecret(), claim });
  return { status: 201, headers: { Location: taken.status_url }, body: taken };
}

/** Returns a new callback secret: 32 random bytes as 64 hex characters. */
export function newSecret(): string {
  return randomBytes(32).toString('hex');
}

/** @throws Problem `validation_failed` if the URL contains an IP address that is not allowed */
function checkCallbackAddress({ guard }: Dependencies, url: string | null | undefined): void {
  const errors = url ? hostProblems(guard, 'callback_url', url) : [];
  if (errors[0]) throw new Problem('validation_failed', errors[0].message, { errors });
}

/**
 * @throws Problem `project_not_allowed`, the same whether the project exists or not
 */
async function checkProject(deps: Dependencies, caller: Caller, projectId: string): Promise<void> {
  if (caller.kind !== 'person' && caller.projectId === projectId) return;
  const project = caller.kind === 'person' ? await findProject(deps.database, projectId) : null;
  if (project?.workspace_id === caller.workspaceId) return;
  throw new Problem('project_not_allowed', 'The credential has no access to this project.');
}

/** Returns the validated metadata of a submission, with the fields in their order. */
function metadataText(body: string): string {
  const span = fieldSpan(body, 'metadata');
  return span === null ? '{}' : orderedJson(body.slice(span.start, span.end));
}

function newRun(
  deps: Dependencies,
  caller: Caller,
  body: Omit<Submission, 'metadata'> & { metadata: string },
  claim: Claim | null,
): RunToAccept['run'] {
  return {
    id: claim ? idOfClaim(claim) : randomUUIDv7(),
    workspace_id: caller.workspaceId,
    project_id: body.project_id,
    created_by: caller.actor,
    title: body.title,
    description: body.description ?? null,
    task_type: body.task_type ?? DEFAULT_TASK_TYPE,
    metadata: body.metadata,
    callback_url: body.callback_url ?? null,
    created_at: deps.clock(),
  };
}
