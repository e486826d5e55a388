import { inCheckout, checkout } from './paths.ts';
import { progressOn } from './progress.ts';
import { selectTests } from './test-selection.ts';
import { runWithServices } from './with-services.ts';

/* `npm test [-- words for mocha]`: set up what tests need, run them, clean up. */
try {
  const words = selectTests(process.argv.slice(2), checkout);
  const mocha = inCheckout('node_modules', 'mocha', 'bin', 'mocha.js');
  process.exitCode = await runWithServices([mocha, ...words], progressOn(process.stdout), { durable: false });
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
