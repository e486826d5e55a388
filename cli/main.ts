import { EXIT } from './exit-codes.ts';
import { processIo } from './io.ts';
import { run } from './run.ts';

process.once('SIGINT', () => process.exit(EXIT.interrupted));
const unread = new AbortController();
let isUnwritable = false;
// EPIPE: a closed pipe, as in `baton task watch ID | head -1`. A command that changes something must still finish.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') unread.abort();
  else isUnwritable = true;
});
process.stderr.on('error', () => {});
process.once('exit', () => {
  if (isUnwritable) process.exitCode ||= EXIT.usage;
});

process.exitCode = await run(process.argv.slice(2), processIo(unread.signal));
