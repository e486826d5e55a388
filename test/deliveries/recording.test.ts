import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { recordWithRetries } from '../../src/activities/deliveries/recording.ts';
import type { Database } from '../../src/database/database.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { successOf } from '../support/results.ts';
import { eventually } from '../support/eventually.ts';

describe('the result of an attempt', function () {
  const receiver = useReceiver();
  const world = useDeliveries();

  for (const moment of ['before', 'after'] as const) {
    it(`is recorded once when the connection breaks ${moment} the commit`, async () => {
      receiver.answering(500);
      const webhookId = await world.webhook({ url: receiver.url });
      await world.publish([{}]);
      const row = await eventually('a failed delivery', async () => {
        const [found] = await world.deliveries(webhookId);
        return found?.status === 'retrying' && found;
      });
      const result = successOf(row, { trigger: 'manual' });
      const { recorded } = await recordWithRetries(breaking(world.database, moment), [result]);
      assert.equal(recorded.get(row.id)?.status, 'succeeded');
      assert.equal(recorded.get(row.id)?.number, 2);
      assert.deepEqual(
        (await world.attempts(row.id)).map(({ number, response_status: status }) => [number, status]),
        [
          [1, 500],
          [2, 204],
        ],
      );
      assert.equal((await world.deliveries(webhookId))[0]?.attempts_count, 2);
    });
  }
});

/** The database, whose first prepared statement loses its connection at that moment. */
function breaking(database: Database, moment: 'before' | 'after'): Database {
  let isBroken = false;
  const lost = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  const connection = {
    async getNativeClient() {
      const pool = await database.em.getConnection().getNativeClient();
      const query = async (statement: { text: string }) => {
        const breaks = !isBroken;
        isBroken = true;
        if (breaks && moment === 'before') throw lost();
        const answer = await pool.query(statement);
        if (breaks) throw lost();
        return answer;
      };
      return { connect: async () => Object.assign(new EventEmitter(), { query, release() {} }) };
    },
  };
  const em = { getConnection: () => connection, fork: () => database.em.fork() };
  return { em } as unknown as Database;
}
