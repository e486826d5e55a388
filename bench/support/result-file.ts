/** The variable that names the file for a bench's result; without it, it gets one of its own. */
export const RESULT_FILE = 'BATON_BENCH_RESULT';

/** A file name for a time: what has no place in one is left out. */
export function fileNameOf(time: Date): string {
  return time.toISOString().replaceAll(/[:.]/g, '-');
}
