import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { checkout, inCheckout } from './paths.ts';
import { progressOn } from './progress.ts';
import { runWithServices } from './with-services.ts';

/* `npm run bench <name> [-- words]`: one benchmark with the services up, under production's settings. */
const [name, ...words] = process.argv.slice(2);
const names = globSync('bench/*.ts', { cwd: checkout }).map((file) => basename(file, '.ts'));
if (name === undefined || !names.includes(name)) {
  console.error(`Say which: npm run bench <name>. There are: ${names.toSorted().join(', ') || 'none yet'}`);
  process.exitCode = 2;
} else {
  try {
    const program = [inCheckout('bench', `${name}.ts`), ...words];
    process.exitCode = await runWithServices(program, progressOn(process.stderr), { durable: true });
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
