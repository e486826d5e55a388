import type { Context, Next } from 'koa';
import type { Logger } from 'pino';
import type { RequestState } from './request-state.ts';

/** A request whose answer is out, or was broken off; `route` is the template of its path. */
export type Answered = { method: string; route: string | null; status: number; seconds: number };

/** What an address of ours is about: the resource, and its id. */
const RESOURCE =
  /^\/api\/v1\/(tasks|webhooks|deliveries)\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/|$)/;
const ID_NAMES: Readonly<Record<string, string>> = {
  tasks: 'execution_id',
  webhooks: 'webhook_id',
  deliveries: 'delivery_id',
};
/** Whoever asks every few seconds whether all is well fills no log with it. */
const HEALTH = '/health/';

/**
 * One line a request once its answer is out: no query, no header, no body, since any of them may hold a secret.
 * `onRequest` is told of the same.
 */
export function accessLog(log: Logger, onRequest?: (answered: Answered) => void) {
  return async function logAccess(context: Context, next: Next): Promise<void> {
    const begun = performance.now();
    context.res.once('close', () => {
      const { requestId, caller, route, trace } = context.state as RequestState;
      const { method, path } = context;
      const { statusCode: status } = context.res;
      const ms = performance.now() - begun;
      onRequest?.({ method, route: route ?? null, status, seconds: ms / 1_000 });
      const isQuiet = status < 400 && path.startsWith(HEALTH);
      const line = {
        request_id: requestId,
        ...(trace ? { trace_id: trace.traceId } : {}),
        method,
        path,
        route,
        ...resourceOf(context),
        status,
        finished: context.res.writableFinished,
        duration_ms: Math.round(ms),
        caller: caller?.label,
        address: context.ip,
      };
      log[isQuiet ? 'debug' : 'info'](line, 'request');
    });
    await next();
  };
}

/** The id of what the request was about, or of what it has made. */
function resourceOf(context: Context): Record<string, string> {
  const made = context.response.get('Location');
  const [, kind = '', id = ''] = RESOURCE.exec(context.path) ?? RESOURCE.exec(pathOf(made)) ?? [];
  const name = ID_NAMES[kind];
  return name === undefined ? {} : { [name]: id };
}

function pathOf(address: string): string {
  return address === '' ? '' : (URL.parse(address, 'http://here')?.pathname ?? '');
}
