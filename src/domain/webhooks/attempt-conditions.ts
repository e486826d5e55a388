import type { DeliveryStatus } from './delivery.ts';

/** The state of a delivery that decides whether an attempt may still be made. */
export type DeliveryProgress = {
  status: DeliveryStatus;
  /** How often its schedule restarted. */
  generation: number;
  /** Failed automatic attempts of the current schedule. */
  failures: number;
  in_backlog: boolean;
  /** All attempts that were recorded. */
  attempts_count: number;
};

/** The state that an automatic attempt was planned for. */
export type PlannedFor = Omit<DeliveryProgress, 'attempts_count'>;

/**
 * Returns whether an automatic attempt is still due: since it was planned, no attempt has succeeded, no other automatic
 * attempt has failed, and nothing has moved, held, cancelled or restarted the delivery.
 */
export function isStillDue(planned: PlannedFor, current: DeliveryProgress): boolean {
  return (
    current.status === planned.status &&
    current.generation === planned.generation &&
    current.failures === planned.failures &&
    current.in_backlog === planned.in_backlog
  );
}

/**
 * Returns the number of attempts at the time of a request. Only for requests of a previous version, which do not contain
 * this number. The time of the request is in its token, a UUID of version 7. `changedAt` is when the delivery changed last.
 */
export function countAttemptsAtRequest(attempts: number, changedAt: Date, token: string): number {
  const requestedAt = Number.parseInt(token.slice(0, 13).replace('-', ''), 16);
  return changedAt.getTime() > requestedAt ? attempts - 1 : attempts;
}

/**
 * Returns whether an attempt outside the schedule is settled without being made: the delivery was cancelled, or it has
 * succeeded and attempts were recorded after the request. `attemptsAtRequest` were recorded before it.
 */
export function isSettled(
  { status, attempts_count: attempts }: Pick<DeliveryProgress, 'status' | 'attempts_count'>,
  attemptsAtRequest: number,
): boolean {
  return status === 'cancelled' || (status === 'succeeded' && attempts > attemptsAtRequest);
}

/**
 * Returns whether the attempt of a test is settled without being made: the test was cancelled, or its attempt was recorded
 * after the request, whatever its result. `attemptsAtRequest` were recorded before it.
 */
export function isTestSettled(
  { status, attempts_count: attempts }: Pick<DeliveryProgress, 'status' | 'attempts_count'>,
  attemptsAtRequest: number,
): boolean {
  return status === 'cancelled' || attempts > attemptsAtRequest;
}
