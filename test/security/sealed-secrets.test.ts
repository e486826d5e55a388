import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { ConfigurationError } from '../../src/runtime/configuration.ts';
import type { Database } from '../../src/database/database.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { createSealing, webhookSecretContext } from '../../src/security/sealing.ts';
import { checkSealedSecrets } from '../../src/runtime/sealed-secrets.ts';
import { useInstallation } from '../support/installation.ts';

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const sealingOf = (ring: string) => createSealing(parseKeyRing(ring));

describe('the startup check of sealed secrets', function () {
  const fresh = useInstallation({ poolSize: 2 });
  let database: Database;
  before(async () => {
    ({ database } = fresh);
    const { workspace_id } = fresh.installation;
    await checkSealedSecrets(database, sealingOf(`none:${key(9)}`));
    for (const ring of [`first:${key(1)}`, `second:${key(2)}`]) {
      const id = randomUUIDv7();
      const secret = sealingOf(ring).seal('s', webhookSecretContext(id));
      await database.em.fork().execute(
        `insert into webhooks (id, workspace_id, name, url, events, secret, created_by, created_at, updated_at)
         values (?, ?, 'A', 'https://a.example', '[]', ?, 'test', now(), now())`,
        [id, workspace_id, secret],
      );
    }
  });

  it('succeeds with all keys that sealed them, in any order', async () => {
    await checkSealedSecrets(database, sealingOf(`third:${key(3)},second:${key(2)},first:${key(1)}`));
  });

  for (const [what, ring] of [
    ['is missing', `first:${key(1)}`],
    ['has another value', `first:${key(1)},second:${key(4)}`],
  ] as const) {
    it(`fails with a sentence if a key ${what}`, async () => {
      await assert.rejects(checkSealedSecrets(database, sealingOf(ring)), (error: Error) => {
        assert.ok(error instanceof ConfigurationError);
        assert.match(error.message, /^BATON_SEALING_KEYS cannot decrypt the secrets of webhooks .*"second"/);
        return true;
      });
    });
  }
});
