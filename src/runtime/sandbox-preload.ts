import { Script } from 'node:vm';

/*
 * `node --import ./src/runtime/sandbox-preload.ts <root>`: calls into the workflow sandbox without a watchdog.
 *
 * The SDK gives every call into the sandbox a time limit of 5 s, against workflow code that never returns. Node makes
 * a thread for each such limit, and an activation is four or five calls: of a replayed three-step run's CPU that is
 * more than half (42 ms with it, 18 ms without), and of its time in the sandbox four fifths. The only workflow code
 * that runs here is ours and has no loop without an await; so the limit is dropped. Threads that a process starts
 * load this file too, the one that runs the workflows among them. Without the flag everything works, only slower.
 */
const runInContext = Script.prototype.runInContext;

Script.prototype.runInContext = function (context, options) {
  if (typeof options !== 'object' || options.timeout === undefined)
    return runInContext.call(this, context, options);
  const { timeout: _, ...unlimited } = options;
  return runInContext.call(this, context, unlimited);
};
