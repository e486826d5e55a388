import { EXIT } from './exit-codes.ts';
import { processIo } from './io.ts';
import { run } from './run.ts';

process.once('SIGINT', () => process.exit(EXIT.interrupted));
// A closed pipe, as in `baton task list
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.usage),
);

process.exitCode = await run(process.argv.slice(2), processIo());
