import { EXIT } from './exit-codes.ts';
import { processIo } from './io.ts';
import { run } from './run.ts';

process.once('SIGINT', () => process.exit(EXIT.interrupted));
// `baton task list | head` is no mistake.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.usage),
);

process.exitCode = await run(process.argv.slice(2), processIo());
