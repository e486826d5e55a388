import type { Context, Next } from 'koa';
import type { Logger } from 'pino';
import type { RequestState } from './request-state.ts';

/** One line a request once its answer is out: no query, no header, no body, since any of them may hold a secret. */
export function accessLog(log: Logger) {
  return async function logAccess(context: Context, next: Next): Promise<void> {
    const begun = performance.now();
    context.res.once('close', () => {
      const { requestId, caller, route } = context.state as RequestState;
      const line = {
        request_id: requestId,
        method: context.method,
        path: context.path,
        route,
        status: context.res.statusCode,
        finished: context.res.writableFinished,
        duration_ms: Math.round(performance.now() - begun),
        caller: caller?.label,
        address: context.ip,
      };
      log.info(line, 'request');
    });
    await next();
  };
}
