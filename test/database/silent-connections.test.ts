import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { isDatabaseOutage } from '../../src/database/common/outage.ts';
import { breakIfSilent } from '../../src/database/common/silent-connections.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { queryBuilderOf, type Database } from '../../src/database/database.ts';
import { eventually } from '../support/eventually.ts';
import { useInstallation } from '../support/installation.ts';
import { startRelay, type Relay } from '../support/relay.ts';

const STATEMENT_MS = 800;
const SILENCE_MS = 400;

describe('a connection whose server has vanished without a message', () => {
  const fresh = useInstallation();
  let relay: Relay;
  let database: Database;

  beforeEach(async () => {
    relay = await startRelay(fresh.url);
    const url = relay.through(fresh.url);
    url.searchParams.set('statement_timeout', String(STATEMENT_MS));
    database = await connectDatabase(url.href, 1, { silenceMs: SILENCE_MS });
  });
  afterEach(async () => {
    await database.close();
    await relay.close();
  });

  /** Returns the process id of the connection after some seconds. */
  const backendAfter = async (seconds: number): Promise<number> => {
    const { rows } = await sql<{
      pid: number;
    }>`select pg_backend_pid() as pid from pg_sleep(${seconds})`.execute(queryBuilderOf(database));
    return rows[0]?.pid ?? 0;
  };

  it('breaks while a statement waits for it, and the next statement has another connection', async () => {
    const first = await backendAfter(0);
    relay.silence();
    await assert.rejects(backendAfter(0), isDatabaseOutage);
    assert.notEqual(await backendAfter(0), first);
  });

  it('breaks after the limit of its statement, never before', () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const stream = { bytesRead: 9, isBroken: false, destroy: () => void (stream.isBroken = true) };
      const client = {
        connection: { stream },
        connectionParameters: { statement_timeout: '3600000' },
        readyForQuery: true,
        on: () => {},
      };
      breakIfSilent(client as never, 30_000);
      mock.timers.tick((2 * 3_630_000) / 5 - 1);
      client.readyForQuery = false;
      mock.timers.tick(3_630_000);
      assert.equal(stream.isBroken, false);
      mock.timers.tick(3_630_000 / 5);
      assert.equal(stream.isBroken, true);
    } finally {
      mock.timers.reset();
    }
  });

  it('stays while it is idle, and while a statement takes nearly as long as its limit', async () => {
    const first = await backendAfter(0);
    assert.equal(await backendAfter(0.5), first);
    await wait(2 * (STATEMENT_MS + SILENCE_MS));
    assert.equal(await backendAfter(0), first);
  });
});

describe('a server that accepts connections and does not answer', () => {
  const fresh = useInstallation();

  it('occupies no place of the pool permanently', async () => {
    const relay = await startRelay(fresh.url);
    const database = await connectDatabase(relay.through(fresh.url).href, 1, { connectMs: 600 });
    const read = () => sql`select 1`.execute(queryBuilderOf(database));
    try {
      relay.setAnswering(false);
      relay.cut();
      await eventually('the pool has no open connection', () => !relay.isInUse());
      await assert.rejects(read(), isDatabaseOutage);
      await assert.rejects(read(), isDatabaseOutage);
      relay.setAnswering(true);
      await read();
    } finally {
      await relay.close();
      await database.close();
    }
  });

  it('is not confused with a wait for a free place of the pool', async () => {
    const database = await connectDatabase(fresh.url, 1, { connectMs: 600 });
    try {
      const read = () => sql`select pg_sleep(0.9)`.execute(queryBuilderOf(database));
      await Promise.all([read(), read()]);
    } finally {
      await database.close();
    }
  });
});
