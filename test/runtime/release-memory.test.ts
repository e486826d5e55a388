import assert from 'node:assert/strict';
import { getHeapCodeStatistics, getHeapStatistics } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { releaseMemory } from '../../src/runtime/release-memory.ts';

const OBJECTS = 1_000_000;
const FUNCTIONS = 10_000;

describe('releasing memory', () => {
  it('gives the pages of objects that nobody uses back to the system', () => {
    const megabytes = () => getHeapStatistics().total_physical_size / 1_000_000;
    releaseMemory();
    const least = megabytes();
    const objects = Array.from({ length: OBJECTS }, (_, number) => ({ text: `number ${number}` }));
    assert.equal(objects.length, OBJECTS);
    assert.ok(megabytes() > least + 40, `${megabytes()} MB with a million objects, ${least} MB without`);
    objects.length = 0;
    releaseMemory();
    assert.ok(megabytes() < least + 10, `${megabytes()} MB remain of ${least} MB`);
  });

  it('removes compiled code that has not run since, and compiles it again when it runs', () => {
    const compiled = () => getHeapCodeStatistics().bytecode_and_metadata_size / 1_000_000;
    releaseMemory();
    const least = compiled();
    const lines = Array.from(
      { length: FUNCTIONS },
      (_, number) => `function f${number}(a) { return a + ${number}; }`,
    );
    const calls = Array.from({ length: FUNCTIONS }, (_, number) => `f${number}(1)`);
    const work = runInThisContext(
      `(() => { ${lines.join('\n')}\nreturn () => [${calls.join()}]; })()`,
    ) as () => number[];
    const results = work();
    assert.ok(compiled() > least + 1, `${compiled()} MB with the functions, ${least} MB without`);
    releaseMemory();
    releaseMemory();
    assert.ok(compiled() < least + 0.5, `${compiled()} MB remain of ${least} MB`);
    assert.deepEqual(work(), results);
  });
});
