import { registerHooks } from 'node:module';
import { relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import Mocha from 'mocha';
import { reachOfTests } from './tests.ts';

/*
 * A test runner of Stryker for mocha 12, whose internal modules Stryker's own runner does not find. Stryker loads it in
 * each of its processes, and runs the tests there for one mutant after another. A mutant in code that runs while a module
 * loads (a table, a schema, a regular expression) needs the modules again: they are loaded with another query in their
 * URLs, which makes them other modules for Node.
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
type TestResult = {
  id: string;
  name: string;
  fileName?: string;
  timeSpentMs: number;
  status: number;
  failureMessage?: string;
};

type MutantRun = {
  activeMutant: { id: string };
  /** The mutated file, in the copy of the checkout. */
  sandboxFileName: string;
  /** Titles of the tests that reach the mutant; all if absent. */
  testFilter?: string[];
  hitLimit?: number;
  mutantActivation: 'static' | 'runtime';
};

type Options = { mutate: readonly string[] };

const [PASSED, FAILED] = [0, 1];
/** Reads of the active mutant in one test, far more than in any test: each piece of mutated code reads it. */
const MAX_READS = 20_000_000;
const LOAD = 'load';

/** Gives the modules of a folder the query of the module that imports them. */
function passLoadOn(folder: string): void {
  const here = pathToFileURL(`${folder}/`).href;
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const load = context.parentURL && new URL(context.parentURL).searchParams.get(LOAD);
      const isOwn = resolved.url.startsWith(here) && !resolved.url.includes('/node_modules/');
      return load && isOwn ? { ...resolved, url: `${resolved.url}?${LOAD}=${load}` } : resolved;
    },
  });
}

function createRunner({ mutate }: Options) {
  const instrumented = ((globalThis as unknown as Record<string, Instrumented>)['__stryker__'] ??= {});
  // A copy of the checkout with all mutants in its code. Stryker goes there after it has loaded this file.
  const sandbox = process.cwd();
  passLoadOn(sandbox);
  const reach = reachOfTests(sandbox, mutate);
  let loads = 0;
  let all: Mocha | null = null;
  let onTest = (_title: string | undefined) => {};
  const reads = countReads(instrumented);

  /** Loads these test files and all that they import. */
  async function load(files: Iterable<string>): Promise<Mocha> {
    loads += 1;
    reads.count = 0;
    const mocha = new Mocha({ reporter: silent as never, timeout: 0 });
    mocha.cleanReferencesAfterRun(false);
    mocha.suite.beforeEach(function () {
      reads.count = 0;
      onTest(this.currentTest?.fullTitle());
    });
    mocha.suite.afterEach(() => onTest(undefined));
    for (const file of files) {
      const path = resolve(sandbox, file);
      mocha.suite.emit('pre-require', globalThis, path, mocha);
      await import(`${pathToFileURL(path).href}?${LOAD}=${loads}`);
    }
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
        const result = {
          id,
          name: id,
          timeSpentMs: test.duration ?? 0,
          status,
          ...(test.file ? { fileName: test.file } : {}),
        };
        results.push(failureMessage === undefined ? result : { ...result, failureMessage });
      };
      runner.on('pass', (test) => add(test, PASSED));
      runner.on('fail', (test, error: Error) => add(test, FAILED, error.message || 'failed'));
    });
    return results;
  }

  /** Loads the tests that reach the file of a mutant, with the mutant active, and runs them: the nearest ones first. */
  async function runAnew({ activeMutant, sandboxFileName }: MutantRun): Promise<TestResult[]> {
    instrumented.activeMutant = activeMutant.id;
    const file = relative(sandbox, sandboxFileName);
    const results: TestResult[] = [];
    for (const isNear of [true, false]) {
      const tests = [...reach].filter(
        ([, reached]) => reached.has(file) && (reached.get(file) === 1) === isNear,
      );
      results.push(...(await run(await load(tests.map(([test]) => test)), /./, true)));
      if (results.some(({ status }) => status === FAILED)) break;
    }
    return results;
  }

  async function runActive({ activeMutant, testFilter }: MutantRun): Promise<TestResult[]> {
    const titles = testFilter ? new RegExp(`^(?:${testFilter.map(RegExp.escape).join('|')})$`) : /./;
    all ??= await load(reach.keys());
    instrumented.activeMutant = activeMutant.id;
    return await run(all, titles, true);
  }

  async function runMutant(mutant: MutantRun): Promise<TestResult[]> {
    try {
      return await (mutant.mutantActivation === 'static' ? runAnew(mutant) : runActive(mutant));
    } catch (error) {
      // With the mutant, a module cannot even be loaded.
      const failureMessage = (error as Error).message;
      return [{ id: LOAD, name: LOAD, timeSpentMs: 0, status: FAILED, failureMessage }];
    } finally {
      instrumented.activeMutant = undefined;
    }
  }

  return {
    capabilities: () => ({ reloadEnvironment: true }),

    async dryRun({ coverageAnalysis }: { coverageAnalysis: string }) {
      if (coverageAnalysis === 'perTest') onTest = (title) => (instrumented.currentTestId = title);
      all ??= await load(reach.keys());
      const tests = await run(all, /./, false);
      onTest = () => {};
      const failed = (await run(all, /./, false)).filter(({ status }) => status === FAILED);
      if (failed.length > 0)
        return {
          status: 'error',
          errorMessage: `These tests pass once but not twice in a process: ${failed.map(({ name }) => name).join('; ')}`,
        };
      return { status: 'complete', tests, mutantCoverage: instrumented.mutantCoverage };
    },

    async mutantRun(mutant: MutantRun) {
      const { hitLimit } = mutant;
      instrumented.hitLimit = hitLimit;
      instrumented.hitCount = hitLimit === undefined ? undefined : 0;
      reads.isExceeded = false;
      const tests = await runMutant(mutant);
      const isHitTooOften = hitLimit !== undefined && Number(instrumented.hitCount) > hitLimit;
      if (isHitTooOften || reads.isExceeded) return { status: 'timeout' };
      const failed = tests.find(({ status }) => status === FAILED);
      if (!failed) return { status: 'survived', nrOfTests: tests.length };
      const { failureMessage } = failed;
      const killedBy = failed.id === LOAD ? [] : [failed.id];
      return { status: 'killed', failureMessage, killedBy, nrOfTests: tests.length };
    },
  };
}
createRunner.inject = ['options'];

/**
 * Ends loops that a mutant made endless. Stryker only counts how often the mutant itself is reached, and otherwise ends
 * the whole process, which takes seconds.
 */
function countReads(instrumented: Instrumented): { count: number; isExceeded: boolean } {
  const reads = { count: 0, isExceeded: false };
  let active: string | undefined;
  Object.defineProperty(instrumented, 'activeMutant', {
    get() {
      reads.count += 1;
      if (reads.count <= MAX_READS) return active;
      reads.isExceeded = true;
      throw new Error('The mutant made a loop endless.');
    },
    set(id: string | undefined) {
      active = id;
    },
  });
  return reads;
}

/** A reporter of mocha. Stryker reports. */
function silent(): void {}

function setBail(suite: Mocha.Suite, bail: boolean): void {
  suite.bail(bail);
  for (const inner of suite.suites) setBail(inner, bail);
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'mocha-in-process', factory: createRunner }];
