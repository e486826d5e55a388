/** The environment variable with the file for a benchmark's result. Without it, a new file is created. */
export const RESULT_FILE = 'BATON_BENCH_RESULT';

/** Returns a file name for a time, without characters that file names cannot have. */
export function fileNameOf(time: Date): string {
  return time.toISOString().replaceAll(/[:.]/g, '-');
}
