import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { decodeProtectedHeader } from 'jose';
import { withClient } from '../../dev/services/postgres.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { storedResponseContext, createSealing } from '../../src/security/sealing.ts';
import { createTokens, TokenError } from '../../src/security/tokens.ts';
import { resealDatabase } from '../../cli/admin/reseal.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useFleets, type Fleet, type Process } from './fleet.ts';

const keyOf = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const ASKING = { steps: 2, ask: { step: 2, question: 'Continue?' } };

describe('a rotation', function () {
  this.timeout(600_000);
  const startFleet = useFleets();
  const receiver = useCallbackReceiver('each test');
  let fleet: Fleet;

  /** Restarts these processes one after another, with other variables. */
  async function restart(processes: readonly Process[], variables: Record<string, string>): Promise<void> {
    Object.assign(fleet.environment, variables);
    for (const one of processes) {
      await one.stop();
      await one.start();
    }
  }

  async function startPausedRun(api: Process): Promise<{ id: string; secret: string }> {
    const body = {
      title: 'Paused',
      project_id: fleet.installation.project_id,
      callback_url: receiver.url,
      metadata: { rehearsal: ASKING },
    };
    const { json } = await fleet.send(api, 'POST', '/api/v1/tasks', { body });
    await fleet.reaches(api, json.execution_id, 'paused');
    return { id: json.execution_id, secret: json.callback_secret };
  }

  it('of sealing keys leaves no value that needs the old key', async () => {
    const [old, fresh] = [keyOf('old'), keyOf('fresh')];
    fleet = await startFleet({ BATON_SEALING_KEYS: old });
    const all = await fleet.startAll();
    const [api] = all;
    const run = await startPausedRun(api);
    const firstSecret = 'the first secret';
    const webhookId = await fleet.createWebhook(api, receiver.url, { secret: firstSecret });
    const path = `/api/v1/webhooks/${webhookId}/rotate-secret`;
    const { json: rotated } = await fleet.send(api, 'POST', path, { body: { overlap_hours: 24 } });
    const once = async () =>
      await fleet.send(api, 'POST', '/api/v1/tasks', {
        body: { title: 'Once', project_id: fleet.installation.project_id },
        headers: { 'X-API-Key': fleet.installation.api_key, 'Idempotency-Key': 'once' },
      });
    const first = await once();

    await restart(all, { BATON_SEALING_KEYS: `${old},${fresh}` });
    assert.deepEqual(await keysInUse(), ['old']);
    await restart(all, { BATON_SEALING_KEYS: `${fresh},${old}` });

    // The wrong order: the old key is removed before all secrets are sealed with the new one.
    const lonely = await fleet.cli.run(['admin', 'reseal'], { env: { BATON_SEALING_KEYS: fresh } });
    assert.equal(lonely.code, 1);
    assert.match(lonely.stderr, /Add the old keys "old" to BATON_SEALING_KEYS/);
    fleet.environment['BATON_SEALING_KEYS'] = fresh;
    await assert.rejects(
      fleet.start({ kind: 'deliveryWorker', build: null }),
      /BATON_SEALING_KEYS cannot decrypt the secrets of webhooks .* \\?"old\\?"/,
    );

    fleet.environment['BATON_SEALING_KEYS'] = `${fresh},${old}`;
    const { data } = await fleet.cli.json(['admin', 'reseal']);
    assert.deepEqual(
      data.map(({ column, resealed, unopened }: Record<string, unknown>) => [column, resealed, unopened]),
      [
        ['webhooks.secret', 1, 0],
        ['webhooks.previous_secret', 1, 0],
        ['task_runs.callback_secret', 2, 0],
        ['push_configs.secrets', 0, 0],
        ['idempotency_keys.answer', 1, 0],
      ],
    );
    assert.deepEqual(await keysInUse(), ['fresh']);

    await restart(all, { BATON_SEALING_KEYS: fresh });
    assert.deepEqual((await once()).json, first.json, 'a kept answer opens');
    await fleet.continue(api, run.id);
    const [callback] = await receiver.receives(1);
    assert.equal(callback?.headers['x-service-signature'], by(run.secret, callback?.body));
    await fleet.publish(api, 'e1');
    const [, delivery] = await receiver.receives(2);
    assert.equal(delivery?.headers['x-service-signature'], by(rotated.secret, delivery?.body));
    assert.equal(delivery?.headers['x-service-signature-previous'], by(firstSecret, delivery?.body));
  });

  it('of sealing keys can be interrupted, repeated, and run by two processes at once', async () => {
    const [old, fresh] = [keyOf('old'), keyOf('fresh')];
    fleet = await startFleet();
    const { project_id: scope } = fleet.installation;
    const count = 2_203;
    const sealing = createSealing(parseKeyRing(old));
    const keys = Array.from({ length: count }, (_, index) => `key-${index}`);
    const answers = keys.map((key) =>
      sealing.seal(`answer of ${key}`, storedResponseContext({ scope, key })),
    );
    await withClient(fleet.databaseUrl, (client) =>
      client.query(
        `insert into idempotency_keys (project_id, key, request_hash, answer, created_at)
         select $1, key, '', answer, now() from unnest($2::text[], $3::text[]) as given (key, answer)`,
        [scope, keys, answers],
      ),
    );
    const environment = { DATABASE_URL: fleet.databaseUrl, BATON_SEALING_KEYS: `${fresh},${old}` };
    const broken = fleet.cli.spawn(['admin', 'reseal']);
    broken.child.kill('SIGKILL');
    await broken.ended;
    const both = await Promise.all([resealDatabase(environment), resealDatabase(environment)]);
    const resealed = both.flat().reduce((sum, column) => sum + column.resealed, 0);
    assert.equal(resealed, count);
    const opening = createSealing(parseKeyRing(fresh));
    const { rows } = await withClient(fleet.databaseUrl, (client) =>
      client.query<{ key: string; answer: string }>('select key, answer from idempotency_keys'),
    );
    assert.equal(rows.length, count);
    for (const { key, answer } of rows)
      assert.equal(opening.open(answer, storedResponseContext({ scope, key })), `answer of ${key}`);
  });

  it('of token keys keeps the tokens of both keys valid in all processes', async () => {
    const [old, fresh] = [keyOf('old'), keyOf('fresh')];
    fleet = await startFleet({ BATON_TOKEN_KEYS: old });
    const [api, other] = await Promise.all([
      fleet.start({ kind: 'api', build: null }),
      fleet.start({ kind: 'api', build: null }),
    ]);
    const token = async (): Promise<string> =>
      (await fleet.send(api, 'POST', '/api/v1/tokens', { body: {} })).json.token;
    const statusAt = async (process: Process, given: string): Promise<number> =>
      (await fleet.send(process, 'GET', '/api/v1/tasks', { headers: { Authorization: `Bearer ${given}` } }))
        .status;

    const first = await token();
    await restart([api, other], { BATON_TOKEN_KEYS: `${old},${fresh}` });
    await restart([api], { BATON_TOKEN_KEYS: `${fresh},${old}` });
    const second = await token();
    assert.deepEqual(
      [first, second].map((one) => decodeProtectedHeader(one).kid),
      ['old', 'fresh'],
    );
    for (const process of [api, other]) {
      assert.deepEqual([await statusAt(process, first), await statusAt(process, second)], [200, 200]);
    }
    await restart([api, other], { BATON_TOKEN_KEYS: fresh });
    for (const process of [api, other]) {
      assert.deepEqual([await statusAt(process, first), await statusAt(process, second)], [401, 200]);
    }
  });

  it('of token keys can remove the old key after 15 minutes, when its tokens have expired', async () => {
    fleet = await startFleet();
    const [old, fresh] = [keyOf('old'), keyOf('fresh')];
    let now = new Date('2026-01-01T00:00:00Z');
    const clock = () => now;
    const { installation } = fleet;
    const { token } = await createTokens(parseKeyRing(old), null, clock).issue({
      sessionId: null,
      subject: 'key:test',
      workspaceId: installation.workspace_id,
      projectId: installation.project_id,
      scopes: ['tasks:read'],
    });
    const after = createTokens(parseKeyRing(`${fresh},${old}`), null, clock);
    now = new Date('2026-01-01T00:14:59Z');
    assert.equal((await after.verify(token)).subject, 'key:test');
    now = new Date('2026-01-01T00:15:01Z');
    await assert.rejects(
      after.verify(token),
      (error: Error) => error instanceof TokenError && error.code === 'token_expired',
    );
  });

  it('of payload keys lets a run that started with the old key continue while that key is configured', async () => {
    const [old, fresh] = [keyOf('old'), keyOf('fresh')];
    fleet = await startFleet({ BATON_PAYLOAD_KEYS: old });
    const api = await fleet.start({ kind: 'api', build: null });
    const worker = await fleet.start({ kind: 'worker', build: null });
    const run = await startPausedRun(api);
    await restart([api, worker], { BATON_PAYLOAD_KEYS: `${old},${fresh}` });
    await restart([api, worker], { BATON_PAYLOAD_KEYS: fresh });
    await fleet.continue(api, run.id);
    await eventually('its task fails for want of the key', async () => await hasFailedTask(run.id), 60_000);
    assert.equal((await fleet.client.workflow.getHandle(run.id).describe()).status.name, 'RUNNING');

    await restart([api, worker], { BATON_PAYLOAD_KEYS: `${fresh},${old}` });
    await fleet.reaches(api, run.id, 'completed');
    assert.deepEqual(await payloadKeysOf(run.id), ['fresh', 'old']);
    assert.equal((await receiver.receives(1)).length, 1);
  });

  const by = (secret: string, body: Buffer | undefined) =>
    `sha256=${createHmac('sha256', secret)
      .update(body ?? '')
      .digest('hex')}`;

  /** Returns the ids of the keys that seal values in the database. */
  async function keysInUse(): Promise<string[]> {
    const { rows } = await withClient(fleet.databaseUrl, (client) =>
      client.query<{ id: string }>(`
        select distinct split_part(sealed, '.', 2) as id from (
          select secret as sealed from webhooks union all select previous_secret from webhooks
          union all select callback_secret from task_runs union all select answer from idempotency_keys) as all_of_it
        where sealed is not null order by id`),
    );
    return rows.map(({ id }) => id);
  }

  async function hasFailedTask(id: string): Promise<boolean> {
    const { events } = await fleet.client.workflow.getHandle(id).fetchHistory();
    return (events ?? []).some((event) => event.workflowTaskFailedEventAttributes);
  }

  /** Returns the ids of the keys that encrypt the payloads of a history. */
  async function payloadKeysOf(id: string): Promise<string[]> {
    const { events } = await fleet.client.workflow.getHandle(id).fetchHistory();
    const found = JSON.stringify(events ?? []).matchAll(/"encryption-key-id":("[^"]*"|\{[^}]*\})/g);
    const ids = [...found].map(([, value]) => textOf(JSON.parse(value ?? '""')));
    return [...new Set(ids)].toSorted();
  }

  /** Returns bytes from JSON: base64, or an object of numbers. */
  function textOf(bytes: unknown): string {
    if (typeof bytes === 'string') return Buffer.from(bytes, 'base64').toString();
    const { type, data } = bytes as { type?: string; data?: number[] };
    return Buffer.from(
      type === 'Buffer' ? (data ?? []) : (Object.values(bytes as object) as number[]),
    ).toString();
  }
});
