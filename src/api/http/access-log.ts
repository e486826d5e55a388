import type { Context, Next } from 'koa';
import type { Logger } from 'pino';
import type { RequestState } from './request-state.ts';

/** A request whose response was sent or aborted; `route` is the path template. */
export type CompletedRequest = { method: string; route: string | null; status: number; seconds: number };

/** Matches the kind and the id of a resource in a path. */
const RESOURCE =
  /^\/api\/v1\/(tasks|webhooks|deliveries)\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/|$)/;
const ID_NAMES: Readonly<Record<string, string>> = {
  tasks: 'execution_id',
  webhooks: 'webhook_id',
  deliveries: 'delivery_id',
};
/** Successful health checks are logged at debug level, so that polling does not fill the log. */
const HEALTH = '/health/';

/**
 * Logs one line for each completed request. Query, headers and body are omitted, because they can contain secrets.
 * Calls `onRequest` with the same data.
 */
export function accessLog(log: Logger, onRequest?: (answered: CompletedRequest) => void) {
  return function logAccess(context: Context, next: Next): Promise<void> {
    const begun = performance.now();
    context.res.once('close', () => {
      const { requestId, caller, route, trace, invoked } = context.state as RequestState;
      const { method, path } = context;
      const { statusCode: status } = context.res;
      const ms = performance.now() - begun;
      onRequest?.({ method, route: route ?? null, status, seconds: ms / 1_000 });
      const level = status < 400 && path.startsWith(HEALTH) ? 'debug' : 'info';
      if (!log.isLevelEnabled(level)) return;
      const line = {
        request_id: requestId,
        ...(trace ? { trace_id: trace.traceId } : {}),
        method,
        path,
        route,
        ...(invoked ? { operation: invoked.operation } : {}),
        ...resourceOf(context, invoked),
        status,
        finished: context.res.writableFinished,
        duration_ms: Math.round(ms),
        caller: caller?.label,
        address: context.ip,
      };
      log[level](line, 'request');
    });
    return next();
  };
}

/** Returns the id of the requested or created resource. */
function resourceOf(context: Context, invoked: RequestState['invoked']): Record<string, string> {
  const path = invoked?.path ?? context.path;
  const made = invoked?.made ?? context.response.get('Location');
  const [, kind = '', id = ''] = RESOURCE.exec(path) ?? RESOURCE.exec(pathOf(made)) ?? [];
  const name = ID_NAMES[kind];
  return name === undefined ? {} : { [name]: id };
}

function pathOf(address: string): string {
  return address === '' ? '' : (URL.parse(address, 'http://here')?.pathname ?? '');
}
