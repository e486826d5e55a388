import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { devServerArguments } from '../../dev/services/temporal-arguments.ts';
import { partitionsOf } from '../../dev/services/temporal-partitions.ts';
import { readTemporalPlan } from '../../dev/services/temporal-plan.ts';

describe('the partitions of the task queues of the dev server', () => {
  let folder: string;
  let dbFile: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-partitions-'));
    dbFile = join(folder, 'temporal.db');
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('are those of the settings for a new database file, which keeps them', () => {
    assert.equal(partitionsOf(dbFile, 2), 2);
    writeFileSync(dbFile, '');
    assert.equal(partitionsOf(dbFile, 1), 2);
  });

  it("are Temporal's four for a file that was created before they were recorded", () => {
    writeFileSync(dbFile, '');
    assert.equal(partitionsOf(dbFile, 1), 4);
  });

  it('are four, which reads all tasks, for a file whose record is empty', () => {
    writeFileSync(dbFile, '');
    writeFileSync(`${dbFile}-partitions`, '');
    assert.equal(partitionsOf(dbFile, 1), 4);
  });

  it('are recorded again if the file was removed', () => {
    partitionsOf(dbFile, 2);
    assert.equal(partitionsOf(dbFile, 1), 1);
  });

  it('are those of the settings without a file', () => {
    assert.equal(partitionsOf(undefined, 1), 1);
  });

  it('are read and written by the server', () => {
    const words = devServerArguments(readTemporalPlan(), { port: 1, uiPort: 2, partitions: 3 });
    assert.ok(words.includes('matching.numTaskqueueReadPartitions=3'));
    assert.ok(words.includes('matching.numTaskqueueWritePartitions=3'));
  });
});
