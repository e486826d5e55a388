import assert from 'node:assert/strict';
import { eventually } from '../support/eventually.ts';
import { useOwnWorld } from '../support/world.ts';
import { type Cli, cliWith } from './cli-process.ts';
import { deliveryOf, publish, readiness, webhooksOf } from './listening.ts';

describe('baton listen, killed,', () => {
  const world = useOwnWorld({ deliveryWorker: true });
  let cli: Cli;
  before(() => {
    cli = cliWith({ BATON_URL: world.api.url, BATON_API_KEY: world.installation.api_key });
  });
  after(() => cli.cleanUp());

  it('leaves no webhook', async () => {
    const killed = cli.spawn(['listen', '--forward', 'http://127.0.0.1:4000']);
    const listening = await readiness(killed);
    killed.child.kill('SIGKILL');
    await killed.ended;
    assert.equal((await webhooksOf(world)).length, 1);
    // The webhook remains for a while, because a listener may reconnect.
    await publish(world);
    const { attempts } = await deliveryOf(world, listening.id, 'retrying');
    assert.deepEqual(
      [attempts[0].failure, attempts[0].message],
      ['connection_failed', 'No listener is connected'],
    );
    // Shortens the minute after which the webhook is deleted.
    await world.database.em
      .fork()
      .execute(`update webhooks set listening_until = now() - interval '61 s' where id = ?`, [listening.id]);
    await eventually('the webhook is deleted', async () => (await webhooksOf(world)).length === 0);
    await deliveryOf(world, listening.id, 'cancelled');
  });
});
