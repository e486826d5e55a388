import assert from 'node:assert/strict';
import { getHeapStatistics } from 'node:v8';
import { releaseMemory } from '../../src/runtime/release-memory.ts';

const OBJECTS = 1_000_000;

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
});
