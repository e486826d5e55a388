import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliError, EXIT, RetryLater } from '../exit-codes.ts';
import type { Api, RequestOptions } from '../http.ts';
import { MAX_RETRY_MS, RETRY_MS, UNREACHABLE_TIMEOUT_MS } from '../wait.ts';
import { titleOf, type Change, type Step } from './change.ts';
import { adviceFor, describeRest } from './describe.ts';

type Dependencies = {
  api: Pick<Api, 'call'>;
  /** Ids of the projects that exist, by key. */
  projectIds: ReadonlyMap<string, string>;
  secrets: ReadonlyMap<Change, string>;
  /** Stops before the next change. */
  signal: AbortSignal;
  onApplied(step: Step): void;
  /** Called with a step that may have taken effect. */
  onUnknown(step: Step): void;
  /** Called before a request is repeated. */
  onRetry(reason: string): void;
  /** How long a request without a response is repeated, in milliseconds. */
  patienceMs?: number;
};

/**
 * Applies the changes one after another, and records how far each got.
 * @throws CliError at the first failure, or if `signal` aborts. It names what was not applied
 */
export async function carryOut(steps: readonly Step[], dependencies: Dependencies): Promise<void> {
  const projectIds = new Map(dependencies.projectIds);
  for (const step of steps) {
    const { change } = step;
    if (dependencies.signal.aborted)
      throw new CliError(EXIT.interrupted, `Interrupted.\n${describeRest(steps)}`);
    const secret = dependencies.secrets.get(change);
    const generated = change.secret?.source.from === 'generated' ? { secret } : {};
    try {
      const result = await send(step, requestOf(change, projectIds, secret), dependencies);
      step.result = 'secret' in generated ? { ...result, ...generated } : result;
    } catch (error) {
      const isUnknown = step.status === 'unknown';
      if (!isUnknown) step.status = 'failed';
      if (!(error instanceof CliError)) throw error;
      if (isUnknown && 'secret' in generated) step.result = generated;
      if (isUnknown) dependencies.onUnknown(step);
      const advice = isUnknown ? `It is unknown whether it took effect. ${adviceFor(change)}` : '';
      const message = `Failed at ${titleOf(change)}: ${error.message}`;
      throw new CliError(error.exitCode, `${message}\n${advice}${describeRest(steps)}`);
    }
    step.status = 'applied';
    if (change.kind === 'project') projectIds.set(change.name, (step.result as { id: string }).id);
    dependencies.onApplied(step);
  }
}

function requestOf(
  { request: { method, body }, project }: Change,
  projectIds: ReadonlyMap<string, string>,
  secret: string | undefined,
): RequestOptions {
  if (body === undefined) return {};
  return {
    body: {
      ...body,
      ...(project === undefined ? {} : { project_id: projectIds.get(project) }),
      ...(secret === undefined ? {} : { secret }),
    },
    headers: method === 'POST' ? { 'idempotency-key': randomUUID() } : {},
  };
}

/**
 * Sends the request, and again while there is no response, so that what it shows once is not lost. A repeated POST gets the
 * response to the first one. A repeated DELETE would get 404.
 */
async function send(
  step: Step,
  options: RequestOptions,
  { api, signal, onRetry, patienceMs = UNREACHABLE_TIMEOUT_MS }: Dependencies,
): Promise<object | undefined> {
  const { method, path } = step.change.request;
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      return await api.call<object | undefined>(method, path, options);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const isLost = error.exitCode === EXIT.unavailable;
      if (isLost) step.status = 'unknown';
      const isRepeated = (isLost && method !== 'DELETE') || error instanceof RetryLater;
      if (!isRepeated || signal.aborted || Date.now() >= until) throw error;
      onRetry(error.message);
      const ms = error instanceof RetryLater ? Math.min(error.retryAfterMs, MAX_RETRY_MS) : RETRY_MS;
      await sleep(ms, undefined, { signal }).catch(() => {});
    }
  }
}
