import { MAX_KEY_OVERLAP_HOURS } from '../../../../src/domain/common/limits.ts';

/** Returns the overlap of a number field in hours; null if it is no valid number. An empty field is not 0. */
export function overlapHoursOf(given: number | string): number | null {
  const hours = given === '' ? Number.NaN : Number(given);
  return Number.isInteger(hours) && hours >= 0 && hours <= MAX_KEY_OVERLAP_HOURS ? hours : null;
}

/** The message about an invalid overlap. */
export const OVERLAP_ERROR = `Enter whole hours from 0 to ${MAX_KEY_OVERLAP_HOURS}. With 0, the old key stops working immediately.`;
