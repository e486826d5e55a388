import assert from 'node:assert/strict';
import { listSealedWithOtherKeys, replaceSealed } from '../../src/database/common/sealed-values.ts';
import { useInstallation } from '../support/installation.ts';

describe('texts that are sealed with an old key', () => {
  const fresh = useInstallation();
  const column = 'idempotency_keys.answer' as const;

  before(async () => {
    const rows = [
      ['a', 'v1.old.1'],
      ['b', 'v1.old.2'],
      ['c', 'v1.new.3'],
      ['d', 'v1.old.4'],
      ['e', null],
    ];
    for (const [key, answer] of rows) {
      await fresh.database.em.fork().execute(
        `insert into idempotency_keys (project_id, key, actor, request_hash, answer, created_at)
         values (?, ?, 'key:a', '', ?, now())`,
        [fresh.installation.project_id, key, answer],
      );
    }
  });

  it('are listed in batches, also those of the same id, and replaced unless they changed', async () => {
    const list = (after: { id: string; key: string } | null) =>
      listSealedWithOtherKeys(fresh.database, column, { keyId: 'new', after, limit: 2 });
    const first = await list(null);
    assert.deepEqual(
      first.map(({ key }) => key),
      ['a', 'b'],
    );
    const second = await list(first.at(-1) ?? null);
    assert.deepEqual(
      second.map(({ key }) => key),
      ['d'],
    );
    assert.deepEqual(await list(second.at(-1) ?? null), []);
    const texts = [...first, ...second].map((text) => ({ ...text, resealed: `v1.new.${text.key}` }));
    const [a, ...others] = texts;
    assert.ok(a);
    const changed = { ...a, sealed: 'v1.old.0' };
    assert.equal(await replaceSealed(fresh.database, column, [changed, ...others]), 2);
    const { rows } = { rows: await list(null) };
    assert.deepEqual(
      rows.map(({ key, sealed }) => [key, sealed]),
      [['a', 'v1.old.1']],
    );
  });
});
