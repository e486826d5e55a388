import { inCheckout, checkout } from './paths.ts';
import { progressOn } from './progress.ts';
import { lanesOf, runInLanes } from './test-lanes.ts';
import { selectTests } from './test-selection.ts';
import { ensureScreens } from './web.ts';
import { runWithServices } from './with-services.ts';

/* `npm test [-- words for mocha]`: set up what tests need, run them, clean up. */
try {
  const words = selectTests(process.argv.slice(2), checkout);
  const mocha = inCheckout('node_modules', 'mocha', 'bin', 'mocha.js');
  const progress = progressOn(process.stdout);
  const needsScreens = words.some((word) => word.startsWith('test/web/'));
  if (needsScreens) await progress.step('screens', ensureScreens, (built) => (built ? 'built' : 'there'));
  // What mocha is told beside files is for one run of it.
  const sideBySide = words.every((word) => !word.startsWith('-')) && lanesOf(words) > 1;
  if (sideBySide) process.exitCode = await runInLanes(words, progress);
  else process.exitCode = await runWithServices([mocha, ...words], progress, { durable: false });
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
