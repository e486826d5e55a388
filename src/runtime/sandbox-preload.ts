import { Script } from 'node:vm';

/*
 * `node --import ./src/runtime/sandbox-preload.ts <root>` removes the time limit of calls into the workflow sandbox.
 * The SDK gives each call into the sandbox a time limit of 5 s, against workflow code that never returns. Node starts
 * a thread for each limit, and an activation has four or five calls. For a replayed three-step run this is more than
 * half of the CPU (42 ms with it, 18 ms without) and four fifths of the time in the sandbox. The only workflow code
 * here is ours and has no loop without an await, so the limit is removed. Threads of the process also load this file,
 * among them the one that runs the workflows. Without the flag everything works, but slower.
 */
const runInContext = Script.prototype.runInContext;

Script.prototype.runInContext = function (context, options) {
  if (typeof options !== 'object' || options.timeout === undefined)
    return runInContext.call(this, context, options);
  const { timeout: _, ...unlimited } = options;
  return runInContext.call(this, context, unlimited);
};
