import { readPrivate, writePrivate } from '../common/private-file.ts';
import { endLeftover } from '../common/processes.ts';

type Children = Record<string, { pid: number; mark: string }>;

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
  const left = readPrivate(file, (json) => json as Children) ?? {};
  for (const [name, { pid, mark }] of Object.entries(left)) {
    if (await endLeftover(pid, mark))
      say(`stopped ${name} (process ${pid}), left over from an earlier start`);
  }
  const children: Children = {};
  return {
    record(name, pid, mark) {
      children[name] = { pid, mark };
      writePrivate(file, children);
    },
    pids: () => Object.fromEntries(Object.entries(children).map(([name, { pid }]) => [name, pid])),
  };
}
