import assert from 'node:assert/strict';
import { pino } from 'pino';
import type { Notifications } from '../../src/database/common/notifications.ts';
import { createClients } from '../../src/gateway/clients.ts';
import type { ClientDependencies } from '../../src/gateway/connected-client.ts';
import type { MetricsRecorder } from '../../src/gateway/metrics.ts';
import { eventually } from '../support/eventually.ts';
import { admitted } from './admitted.ts';

describe('the clients of the live channel', () => {
  function setUp() {
    const dropped: string[] = [];
    let announce = (_id: string, _rest: string | null): void => assert.fail('nobody listens');
    const notifications = {
      subscribe: (_channel: string, _id: string | null, listener: typeof announce) => {
        announce = listener;
        return () => {};
      },
    } as unknown as Notifications;
    const state = { connections: 0 };
    const metrics = {
      connected: (by: number) => void (state.connections += by),
      dropped: (code: string) => void dropped.push(code),
    } as unknown as MetricsRecorder;
    const deps = { clock: () => new Date(), log: pino({ level: 'silent' }) } as unknown as ClientDependencies;
    const clients = createClients(deps, { notifications, metrics, recheckMs: 5 });
    const enter = (admission = admitted()) =>
      clients.enter(
        { id: 'one', send: () => {}, pendingBytes: () => 0, onceDrained: () => {}, close: () => {} },
        admission,
      );
    const announceOne = (id: string, rest: string | null): void => announce(id, rest);
    return { clients, state, enter, dropped, announceOne, announce: () => announce('', null) };
  }

  it('are checked again after a check has failed, until it succeeds', async () => {
    const { clients, enter, dropped, announce } = setUp();
    const [one, other] = [enter(), enter()];
    const checks: string[] = [];
    one.recheck = async () => {
      checks.push('one');
      if (checks.length < 3) throw new Error('the database is unavailable');
      one.connection.close('token_invalid');
      return null;
    };
    other.recheck = async () => {
      checks.push('other');
      return null;
    };
    announce();
    await eventually('the revoked credential is noticed', () => dropped.length === 1);
    await eventually('the other one is checked', () => checks.includes('other'));
    assert.deepEqual([dropped, checks.slice(0, 3)], [['token_invalid'], ['one', 'one', 'one']]);
    for (const client of [one, other]) clients.leave(client);
    clients.closeAll('server_stopping');
  });

  it('are checked only if their own credential has changed, or any may have', () => {
    const { clients, enter, announceOne } = setUp();
    const checked: string[] = [];
    const entered = ['one', 'other'].map((id) => {
      const { claims, ...admission } = admitted();
      const own = { origin: 'own', subject: `key:${id}`, workspaceId: 'w', sessionId: `of ${id}` } as const;
      const client = enter({ ...admission, claims: { ...claims, ...own } });
      client.recheck = async () => {
        checked.push(id);
        return admission.holder;
      };
      return client;
    });
    announceOne('other', '');
    announceOne('of one', '');
    announceOne('unknown', '');
    assert.deepEqual(checked.splice(0), ['other', 'one']);
    announceOne('', null);
    assert.deepEqual(checked, ['one']);
    for (const client of entered) clients.leave(client);
    clients.closeAll('server_stopping');
  });

  it('are counted until they leave, and leave once', () => {
    const { clients, state, enter } = setUp();
    let released = 0;
    const client = enter(admitted(() => void (released += 1)));
    const other = enter();
    clients.leave(client);
    clients.leave(client);
    assert.deepEqual([state.connections, released], [1, 1]);
    clients.leave(other);
  });

  it('are not counted as slow readers after they have left', () => {
    const { clients, enter, dropped } = setUp();
    const client = enter();
    clients.leave(client);
    client.connection.close('slow_reader');
    assert.deepEqual(dropped, []);
  });

  it('are counted if they are rejected, or closed by the service, once and with their names in the log', async () => {
    const logged: unknown[] = [];
    const closed: string[] = [];
    const dropped: string[] = [];
    const rejected = { ok: false, code: 'token_expired' } as const;
    const deps = {
      clock: () => new Date(),
      log: { info: (...entry: unknown[]) => void logged.push(entry) },
      admission: { admit: async (token: string) => (token === 'bad' ? rejected : admitted()) },
    } as unknown as ClientDependencies;
    const metrics = {
      connected() {},
      dropped: (code: string) => void dropped.push(code),
    } as unknown as MetricsRecorder;
    let subscriptions = 0;
    const notifications = {
      subscribe(channel: string) {
        assert.equal(channel, 'credentials');
        subscriptions += 1;
        return () => void (subscriptions -= 1);
      },
    } as unknown as Notifications;
    const clients = createClients(deps, { notifications, metrics });
    assert.equal(await clients.admit('bad'), rejected);
    const admission = await clients.admit('good');
    assert.ok(admission.ok);
    assert.deepEqual(dropped.splice(0), ['token_expired']);
    const entered = ['one', 'other'].map((id) =>
      clients.enter(
        {
          id,
          send() {},
          pendingBytes: () => 0,
          onceDrained() {},
          close: (code) => void closed.push(`${id} ${code}`),
        },
        admission,
      ),
    );
    entered[0]?.connection.close('forbidden');
    entered[0]?.connection.close('slow_reader');
    clients.closeAll('server_stopping');
    assert.deepEqual(closed, ['one forbidden', 'other server_stopping']);
    assert.deepEqual(dropped, ['forbidden', 'server_stopping']);
    const text = 'channel connection closed by the service';
    assert.deepEqual(logged, [
      [{ connection: 'one', actor: 'token:x', code: 'forbidden' }, text],
      [{ connection: 'other', actor: 'token:x', code: 'server_stopping' }, text],
    ]);
    assert.equal(subscriptions, 0);
    for (const client of entered) clients.leave(client);
  });
});
