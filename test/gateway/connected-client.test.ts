import assert from 'node:assert/strict';
import { pino } from 'pino';
import { MAX_WAITING_MESSAGES } from '../../src/domain/common/limits.ts';
import { shortened } from '../../src/gateway/client-messages.ts';
import type { Handled } from '../../src/gateway/handlers.ts';
import {
  ConnectedClient,
  type MessageResult,
  type ClientDependencies,
} from '../../src/gateway/connected-client.ts';

describe('a text of a client in a reply', () => {
  it('is not cut within a character', () => assert.equal(shortened('ab😀', 3), 'ab'));
});

describe('the messages of a connection', () => {
  /** Seconds pass between two messages, so that the rate of messages refuses none. */
  let seconds = 0;
  const clock = () => new Date((seconds += 10) * 1_000);
  const gate = Promise.withResolvers<Handled>();

  it('wait for the previous ones, up to a limit', async () => {
    const deps = {
      clock,
      log: pino({ level: 'silent' }),
      handlers: { work: { replyType: 'worked', read: () => () => gate.promise } },
    } as unknown as ClientDependencies;
    const connection = {
      id: 'one',
      send: () => {},
      pendingBytes: () => 0,
      onceDrained: () => {},
      close: () => assert.fail('it was closed'),
    };
    const expiresAt = new Date('2100-01-01');
    const claims = { origin: 'outside', subject: 'x', projectId: 'p', scopes: [], expiresAt } as const;
    const holder = { workspaceId: 'w', projectId: 'p', scopes: [], actor: 'token:x', label: 'token:x' };
    const client = new ConnectedClient(deps, connection, {
      ok: true,
      claims: { ...claims, scopes: [] },
      holder,
      release: () => {},
    });
    const answers: MessageResult[] = [];
    const ask = () =>
      new Promise<void>((resolve) =>
        client.receive('work', {}, (answer) => {
          answers.push(answer);
          resolve();
        }),
      );
    const all = Array.from({ length: MAX_WAITING_MESSAGES + 2 }, ask);
    assert.deepEqual(
      answers.map(({ reply }) => !reply.ok && reply.code),
      ['rate_limited', 'rate_limited'],
    );
    gate.resolve({ reply: { ok: true } });
    await Promise.all(all);
    await ask();
    assert.deepEqual(new Set(answers.slice(2).map(({ replyType }) => replyType)), new Set(['worked']));
    client.closed();
  });
});
