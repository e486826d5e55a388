import { isGrpcServiceError, type Client } from '@temporalio/client';

/** gRPC codes that callers of Temporal tell apart. */
export const GRPC = { invalidArgument: 3, deadlineExceeded: 4, notFound: 5, failedPrecondition: 9 } as const;

/** The gRPC code of an error of the SDK, null where it has none. */
export function grpcCodeOf(error: unknown): number | null {
  return isGrpcServiceError(error) ? error.code : null;
}

/**
 * Calls Temporal for at most `ms`. The SDK's own deadline counts each try of a call that it repeats, so that a
 * service out of reach would take twice as long to be noticed; here the caller is let go in time.
 * @throws what the call throws, or an Error where it does not answer in time
 */
export async function withinDeadline<T>(client: Client, ms: number, call: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no response within ${ms} ms`)), ms);
  try {
    return await Promise.race([client.withDeadline(Date.now() + ms, call), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
