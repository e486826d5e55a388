import { readFileSync } from 'node:fs';
import Mocha from 'mocha';
import { inCheckout } from '../../dev/paths.ts';
import type { FromLane, ToLane } from '../../dev/lane-process.ts';
import { mochaHooks } from './hooks.ts';
import { openResources } from './reporter.ts';

/*
 * One lane of `npm test`: runs the files that its parent names, one after another in this process, and tells what came
 * of each. It ends when there are no more; what is left open then fails the run.
 */
const LEAK_LIMIT_MS = 10_000;
type Limits = { timeout: number; slow: number };
const { timeout, slow } = JSON.parse(readFileSync(inCheckout('.mocharc.json'), 'utf8')) as Limits;
const OPTIONS = { timeout, slow, reporter: 'spec' };

const tell = (message: FromLane) => process.send?.(message);

process.on('message', (message: ToLane) => {
  if ('files' in message) void runFiles(message.files);
  else endWhenNothingIsOpen();
});
tell({ ready: true });

async function runFiles(files: string[]): Promise<void> {
  const color = process.env['FORCE_COLOR'] === '1';
  const mocha = new Mocha({ ...OPTIONS, forbidOnly: true, color, rootHooks: mochaHooks });
  for (const file of files) mocha.addFile(inCheckout(file));
  try {
    await mocha.loadFilesAsync();
  } catch (error) {
    console.error(error);
    tell({ passed: 0, skipped: 0, failed: [`${files.join(', ')} could not be loaded`] });
    return;
  }
  const failed: string[] = [];
  const runner = mocha.run(() => {
    const { passes = 0, pending = 0 } = runner.stats ?? {};
    tell({ passed: passes, skipped: pending, failed });
  });
  runner.on('fail', (test) => failed.push(test.titlePath().join(' › ')));
}

function endWhenNothingIsOpen(): void {
  process.disconnect?.();
  setTimeout(() => {
    console.error(`The tests ended but left something open: ${openResources()}`);
    process.exit(1);
  }, LEAK_LIMIT_MS).unref();
}
