import { z } from 'zod';
import { readPrivate, writePrivate } from '../common/private-file.ts';
import { endLeftover } from '../common/processes.ts';

const childrenSchema = z.record(z.string(), z.object({ pid: z.number(), mark: z.string() }));

/** The child processes of the launcher, stored in a file. If the launcher is killed, the next start stops them. */
export type ChildrenRecord = {
  /** Records a child. `mark` is a part of its command line that no other process has. */
  record(name: string, pid: number, mark: string): void;
  pids(): Record<string, number>;
};

/**
 * Stops processes that an earlier launcher has left, since it was killed or the machine went down. Then begins a new
 * record.
 */
export async function beginChildrenRecord(
  file: string,
  say: (sentence: string) => void,
): Promise<ChildrenRecord> {
  for (const [name, { pid, mark }] of Object.entries(
    readPrivate(file, (json) => childrenSchema.parse(json)) ?? {},
  )) {
    if (await endLeftover(pid, mark))
      say(`stopped ${name} (process ${pid}), left over from an earlier start`);
  }
  const children: z.infer<typeof childrenSchema> = {};
  return {
    record(name, pid, mark) {
      children[name] = { pid, mark };
      writePrivate(file, children);
    },
    pids: () => Object.fromEntries(Object.entries(children).map(([name, { pid }]) => [name, pid])),
  };
}
