import { resolve } from 'node:path';
import Mocha from 'mocha';

/*
 * A test runner of Stryker for mocha 12, whose internal modules Stryker's own runner does not find. Stryker loads it in
 * each of its processes. ECMAScript modules cannot be loaded again, so each process loads the tests once and runs them for
 * one mutant after another.
 */

/** What Stryker's instrumented code reads and writes. */
type Instrumented = {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  mutantCoverage?: unknown;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
};

/** The result of one test; `status` as Stryker numbers it. */
type TestResult = { id: string; name: string; timeSpentMs: number; status: number; failureMessage?: string };

type MutantRun = {
  activeMutant: { id: string };
  /** Titles of the tests that reach the mutant; all if absent. */
  testFilter?: string[];
  hitLimit?: number;
  mutantActivation: 'static' | 'runtime';
};

type Options = { mutationTests: readonly string[] };

const [PASSED, FAILED] = [0, 1];

function createRunner({ mutationTests }: Options) {
  const instrumented = ((globalThis as unknown as Record<string, Instrumented>)['__stryker__'] ??= {});
  let loaded: Mocha | null = null;
  let onTest = (_title: string) => {};

  async function load(): Promise<Mocha> {
    const mocha = new Mocha({ reporter: class {} as never, timeout: 0 });
    mocha.cleanReferencesAfterRun(false);
    for (const file of mutationTests) mocha.addFile(resolve(file));
    mocha.suite.beforeEach(function () {
      onTest(this.currentTest?.fullTitle() ?? '');
    });
    await mocha.loadFilesAsync();
    return mocha;
  }

  /** Runs the tests whose titles match. Ends at the first failure if `bail`. */
  async function run(mocha: Mocha, titles: RegExp, bail: boolean): Promise<TestResult[]> {
    const results: TestResult[] = [];
    mocha.grep(titles);
    setBail(mocha.suite, bail);
    await new Promise<void>((done) => {
      const runner = mocha.run(() => done());
      const add = (test: Mocha.Runnable, status: number, failureMessage?: string) => {
        const id = test.ctx?.currentTest?.fullTitle() ?? test.fullTitle();
        const result = { id, name: id, timeSpentMs: test.duration ?? 0, status };
        results.push(failureMessage === undefined ? result : { ...result, failureMessage });
      };
      runner.on('pass', (test) => add(test, PASSED));
      runner.on('fail', (test, error: Error) => add(test, FAILED, error.message || 'failed'));
    });
    return results;
  }

  return {
    capabilities: () => ({ reloadEnvironment: false }),

    async dryRun({ coverageAnalysis }: { coverageAnalysis: string }) {
      if (coverageAnalysis === 'perTest') onTest = (title) => (instrumented.currentTestId = title);
      loaded ??= await load();
      const tests = await run(loaded, /./, false);
      onTest = () => {};
      return { status: 'complete', tests, mutantCoverage: instrumented.mutantCoverage };
    },

    async mutantRun({ activeMutant: { id }, testFilter, hitLimit, mutantActivation }: MutantRun) {
      instrumented.hitLimit = hitLimit;
      instrumented.hitCount = hitLimit === undefined ? undefined : 0;
      if (mutantActivation === 'static') instrumented.activeMutant = id;
      loaded ??= await load();
      instrumented.activeMutant = id;
      const titles = testFilter ? new RegExp(`^(?:${testFilter.map(RegExp.escape).join('|')})$`) : /./;
      const tests = await run(loaded, titles, true);
      if (hitLimit !== undefined && Number(instrumented.hitCount) > hitLimit) return { status: 'timeout' };
      const failed = tests.find(({ status }) => status === FAILED);
      if (!failed) return { status: 'survived', nrOfTests: tests.length };
      const { failureMessage } = failed;
      return { status: 'killed', failureMessage, killedBy: [failed.id], nrOfTests: tests.length };
    },
  };
}
createRunner.inject = ['options'];

function setBail(suite: Mocha.Suite, bail: boolean): void {
  suite.bail(bail);
  for (const inner of suite.suites) setBail(inner, bail);
}

export const strykerPlugins = [
  { kind: 'TestRunner', name: 'mocha-in-process', factory: createRunner },
];
