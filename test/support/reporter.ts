import Mocha from 'mocha';

const LEAK_LIMIT_MS = 10_000;

/**
 * Mocha's spec reporter with a last line that counts: `12 passed, 0 failed`, `, 1 skipped` where tests are pending.
 * A process that tests keep alive for ten seconds after their end fails the run, with the names of what is open.
 */
export default class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const { EVENT_RUN_END } = Mocha.Runner.constants;
    runner.once(EVENT_RUN_END, () => {
      const { passes = 0, failures = 0, pending = 0 } = runner.stats ?? {};
      const line = `${passes} passed, ${failures} failed${pending > 0 ? `, ${pending} skipped` : ''}`;
      console.log(line);
      setTimeout(() => failOnLeak(line), LEAK_LIMIT_MS).unref();
    });
  }
}

/** The kinds of what keeps this process alive. */
export function openResources(): string {
  const open = [...new Set(process.getActiveResourcesInfo())].filter((name) => name !== 'TTYWrap');
  return open.join(', ') || 'unnamed';
}

function failOnLeak(line: string): void {
  console.log(`\nThe tests ended but left something open: ${openResources()}\n${line}`);
  process.on('exit', () => {
    process.exitCode = 1;
  });
  process.exit(1);
}
