import { logFileOf } from './log-file.ts';
import type { SetupReply, SetupRequest } from './setup-messages.ts';
import type { SetupTasks } from './setup-tasks.ts';
import { inCheckout } from '../common/paths.ts';
import { describeEnding, startProcess, tailOf } from '../common/processes.ts';
import type { Say } from '../common/progress.ts';

type TaskName = keyof SetupTasks;
type Input<T extends TaskName> = Parameters<SetupTasks[T]> extends [] ? null : Parameters<SetupTasks[T]>[0];
type Result<T extends TaskName> = Awaited<ReturnType<SetupTasks[T]>>;

/** The process that does what needs packages, see `setup-tasks.ts`. */
export type Setup = {
  /** @throws Error with the message and the code of the task's error */
  run<T extends TaskName>(task: T, input: Input<T>, say?: Say): Promise<Result<T>>;
  stop(): Promise<unknown>;
};

type Waiting = { settle(reply: SetupReply): void; fail(error: Error): void };

/** Starts the setup process. */
export async function startSetup(): Promise<Setup> {
  const logFile = logFileOf('setup');
  const program = inCheckout('dev', 'launcher', 'setup-tasks.ts');
  const args = [...process.execArgv, program];
  const running = await startProcess({ command: process.execPath, args, logFile, ipc: true });
  const open = new Map<number, Waiting>();
  let last = 0;
  running.child.on('message', (message) => {
    const reply = message as SetupReply;
    open.get(reply.id)?.settle(reply);
  });
  void running.ended.then((ending) => {
    const error = new Error(`The setup process ended ${describeEnding(ending)}:\n${tailOf(logFile)}`);
    for (const waiting of open.values()) waiting.fail(error);
  });
  return {
    run<T extends TaskName>(task: T, input: unknown, say: Say = () => {}) {
      const id = (last += 1);
      return new Promise<Result<T>>((resolve, reject) => {
        open.set(id, {
          settle(reply) {
            if ('said' in reply) return say(reply.said);
            open.delete(id);
            if (!('error' in reply)) return resolve(reply.result as Result<T>);
            reject(Object.assign(new Error(reply.error.message), reply.error));
          },
          fail: reject,
        });
        running.child.send({ id, task, input } satisfies SetupRequest, (error) => error && reject(error));
      });
    },
    stop: () => running.stop(),
  };
}
