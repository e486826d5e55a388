import { CliError, EXIT } from '../exit-codes.ts';
import type { Api } from '../http.ts';
import { titleOf, type Change, type Step } from './change.ts';
import { describeRest } from './describe.ts';

type Dependencies = {
  api: Pick<Api, 'call'>;
  /** Ids of the projects that exist, by key. */
  projectIds: ReadonlyMap<string, string>;
  secrets: ReadonlyMap<Change, string>;
  /** Stops before the next change. */
  signal: AbortSignal;
  onApplied(step: Step): void;
};

/**
 * Applies the changes one after another, and records how far each got.
 * @throws CliError at the first failure, or if `signal` aborts. It names what was not applied
 */
export async function carryOut(steps: readonly Step[], dependencies: Dependencies): Promise<void> {
  const projectIds = new Map(dependencies.projectIds);
  for (const step of steps) {
    if (dependencies.signal.aborted)
      throw new CliError(EXIT.interrupted, `Interrupted.\n${describeRest(steps)}`);
    try {
      step.result = await send(step.change, projectIds, dependencies);
    } catch (error) {
      step.status = 'failed';
      if (!(error instanceof CliError)) throw error;
      const isUnknown = error.exitCode === EXIT.unavailable ? 'It is unknown whether it took effect. ' : '';
      const message = `Failed at ${titleOf(step.change)}: ${error.message}`;
      throw new CliError(error.exitCode, `${message}\n${isUnknown}${describeRest(steps)}`);
    }
    step.status = 'applied';
    if (step.change.kind === 'project') projectIds.set(step.change.name, (step.result as { id: string }).id);
    dependencies.onApplied(step);
  }
}

async function send(
  change: Change,
  projectIds: ReadonlyMap<string, string>,
  { api, secrets }: Pick<Dependencies, 'api' | 'secrets'>,
): Promise<unknown> {
  const { method, path, body } = change.request;
  const secret = secrets.get(change);
  const result = await api.call<object | undefined>(
    method,
    path,
    body === undefined
      ? {}
      : {
          body: {
            ...body,
            ...(change.project === undefined ? {} : { project_id: projectIds.get(change.project) }),
            ...(secret === undefined ? {} : { secret }),
          },
        },
  );
  return change.secret?.source.from === 'generated' ? { ...result, secret } : result;
}
