import type { Launch } from './launch.ts';

/** Calls the functions in reverse order, one after another, even if some fail. Returns the errors of those that failed. */
export async function stopAll(stops: Launch['stops']): Promise<Error[]> {
  const errors: Error[] = [];
  for (const stop of stops.toReversed()) {
    try {
      await stop();
    } catch (error) {
      errors.push(error as Error);
    }
  }
  return errors;
}
