import { isGrpcServiceError, type Client } from '@temporalio/client';

/** gRPC codes that the service distinguishes. */
export const GRPC = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  failedPrecondition: 9,
  unavailable: 14,
} as const;

/** Returns the gRPC code of an error of the SDK, or null if it has none. */
export function grpcCodeOf(error: unknown): number | null {
  return isGrpcServiceError(error) ? error.code : null;
}

/** Returns the gRPC code of an error, or of the one that the SDK's client has wrapped in it; null if neither has one. */
export function wrappedGrpcCodeOf(error: unknown): number | null {
  return grpcCodeOf(error) ?? (error instanceof Error ? grpcCodeOf(error.cause) : null);
}

/** Temporal did not respond to a call in time. */
class NoResponse extends Error {}

/** The codes of calls that got no response in time. The SDK's native connection cancels them at their deadline. */
const LATE = new Set<number | null>([GRPC.cancelled, GRPC.deadlineExceeded, GRPC.unavailable]);

/** Returns whether a call failed because Temporal was busy or unreachable, and not because of what was called. */
export function isLate(error: unknown): boolean {
  return error instanceof NoResponse || LATE.has(wrappedGrpcCodeOf(error));
}

/**
 * Calls Temporal with a deadline of `ms` milliseconds. The SDK's own deadline applies to each try of a repeated call,
 * so that it would take twice as long to notice an unreachable service.
 * @throws what the call throws, or an Error if it does not respond in time
 */
export async function withinDeadline<T>(client: Client, ms: number, call: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new NoResponse(`no response within ${ms} ms`)), ms);
  try {
    return await Promise.race([client.withDeadline(Date.now() + ms, call), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
