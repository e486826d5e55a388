import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { inCheckout } from '../../dev/common/paths.ts';
import { withClient } from '../../dev/services/postgres.ts';
import { isTerminal, type TaskState } from '../../src/domain/tasks/task-states.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { NODE_CLIENTS } from '../support/channel-clients.ts';
import { eventually } from '../support/eventually.ts';
import { startPairs, type Pairs } from './pairs.ts';

const EVERY_MS = 200;
/** Time between two tasks while processes are restarted. A slow machine must not gather runs that wait. */
const LOAD_EVERY_MS = 500;
const plainClient = NODE_CLIENTS.find(({ name }) => name === 'ws');

describe('a service with two instances of each process', function () {
  this.timeout(300_000);
  let pairs: Pairs;
  const receiver = useCallbackReceiver();

  before(async () => {
    pairs = await startPairs();
  });

  after(async () => {
    await pairs?.close();
  });

  const task = (fields: Record<string, unknown> = {}) => ({
    title: 'A task',
    project_id: pairs.installation.project_id,
    ...fields,
  });

  async function webhook(url: string): Promise<string> {
    const body = { name: 'All', url: receiver.url, events: [{ event: 'issue.created' }] };
    const { status, json } = await pairs.send('POST', '/api/v1/webhooks', { body, url });
    assert.equal(status, 201);
    return json.id;
  }

  const event = (id: string) => ({ id, event: 'issue.created', data: { issue: { id, key: 'S-1' } } });

  async function stateOf(id: string, url?: string): Promise<TaskState> {
    const { json } = await pairs.send('GET', `/api/v1/tasks/${id}`, url === undefined ? {} : { url });
    return json.state;
  }

  async function tokenFor(url: string): Promise<string> {
    const { status, json } = await pairs.send('POST', '/api/v1/tokens', { url });
    assert.equal(status, 201);
    return json.token;
  }

  /** Sends a request until it gets a response, as a careful caller does: with the same key each time. */
  async function sendSurely(path: string, body: unknown, key: string): Promise<string> {
    for (;;) {
      const headers = { 'Idempotency-Key': key };
      const answered = await pairs.send('POST', path, { body, headers }).catch(() => null);
      if (answered && [201, 202].includes(answered.status))
        return answered.json.execution_id ?? answered.json.id;
      assert.ok(answered === null || [409, 503].includes(answered.status), JSON.stringify(answered));
      await wait(EVERY_MS);
    }
  }

  it('shows a task at both APIs, and streams it from both gateways', async () => {
    const [first, second] = pairs.of('api');
    const body = task({ metadata: { rehearsal: { step_ms: 300 } } });
    const { status, json } = await pairs.send('POST', '/api/v1/tasks', { body, url: first.url });
    assert.equal(status, 201);
    const id = json.execution_id;
    const token = await tokenFor(second.url);
    assert.ok(plainClient);
    const views = await Promise.all(
      pairs.of('gateway').map((gateway) => plainClient.follow(gateway.url, token, id, { after: 0 })),
    );
    await eventually('it is completed', async () => (await stateOf(id, second.url)) === 'completed');
    const { json: feed } = await pairs.send('GET', `/api/v1/tasks/${id}/events`, { url: second.url });
    for (const view of views) {
      await eventually('all events arrived', () => view.events.length === feed.data.length);
      assert.deepEqual(
        view.events.map(({ seq }) => seq),
        feed.data.map(({ seq }: { seq: number }) => seq),
      );
      await view.disconnect();
    }
  });

  it('shares idempotency keys between the APIs', async () => {
    const [first, second] = pairs.of('api');
    const headers = { 'Idempotency-Key': 'the-same' };
    const sent = await pairs.send('POST', '/api/v1/tasks', { body: task(), headers, url: first.url });
    const again = await pairs.send('POST', '/api/v1/tasks', { body: task(), headers, url: second.url });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(again.json, sent.json);
  });

  it('distributes tasks and deliveries over all workers', async () => {
    const [first] = pairs.of('api');
    await webhook(first.url);
    // The process in which the run ended makes the first attempt. Task workers make the others.
    const refused = new Set<unknown>();
    receiver.answering(({ headers }) => {
      const run = headers['x-service-delivery'];
      const isFirst = String(headers['x-service-event']).startsWith('task.') && !refused.has(run);
      if (isFirst) refused.add(run);
      return isFirst ? 503 : 204;
    });
    const figures = async () => [
      ...(await Promise.all(
        pairs.of('delivery-worker').map((one) => one.metric('baton_delivery_attempts_total')),
      )),
      ...(await Promise.all(
        pairs.of('task-worker').map((one) => one.metric('baton_callback_attempts_total')),
      )),
    ];
    let rounds = 0;
    await eventually('all four workers had work', async () => {
      const round = rounds++;
      // More events together than an API process dispatches itself.
      const sent = Array.from({ length: 60 }, (_, number) => `divided-${round}-${number}`);
      await Promise.all(sent.map((id) => sendSurely('/api/v1/events', event(id), id)));
      await sendSurely('/api/v1/tasks', task({ callback_url: receiver.url }), `divided-task-${round}`);
      await wait(EVERY_MS);
      return (await figures()).every((figure) => figure > 0);
    });
    receiver.answering(204);
    for (const balancer of [pairs.api]) assert.ok([...balancer.given.values()].every((count) => count > 0));
  });

  it('loses nothing while all processes are restarted in turn', async () => {
    const [, second] = pairs.of('api');
    const { json: before } = await pairs.send('GET', '/api/v1/webhooks');
    for (const { id } of before.data) await pairs.send('DELETE', `/api/v1/webhooks/${id}`);
    await webhook(second.url);
    const steps = { mark: 'rolling', rehearsal: { step_ms: 400 } };
    const long = await sendSurely(
      '/api/v1/tasks',
      task({ metadata: { rehearsal: { step_ms: 6_000 } } }),
      'long',
    );
    const token = await tokenFor(second.url);
    const seen: number[] = [];
    const following = followOn(long, token, seen);

    const ids: string[] = [];
    const events: string[] = [];
    const underWay: Promise<unknown>[] = [];
    let isStopped = false;
    const load = (async () => {
      for (let number = 1; !isStopped; number++) {
        const body = task({ callback_url: receiver.url, metadata: steps });
        underWay.push(sendSurely('/api/v1/tasks', body, `rolling-${number}`).then((id) => ids.push(id)));
        const one = event(`rolling-${number}`);
        underWay.push(sendSurely('/api/v1/events', one, `event-${number}`).then((id) => events.push(id)));
        await wait(LOAD_EVERY_MS);
      }
    })();
    for (const turn of [0, 1] as const) {
      const members = (['api', 'gateway', 'task-worker', 'delivery-worker'] as const).map(
        (kind) => pairs.of(kind)[turn],
      );
      await Promise.all(members.map((member) => member.restart()));
    }
    await eventually('enough was submitted', () => underWay.length > 40);
    isStopped = true;
    await load;
    await Promise.all(underWay);

    const stored = await withClient(pairs.databaseUrl, (client) =>
      client.query<{ id: string }>(`select id from task_runs where metadata ->> 'mark' = 'rolling'`),
    );
    assert.deepEqual(stored.rows.map(({ id }) => id).toSorted(), ids.toSorted());
    await eventually('all runs have ended', async () => (await openRuns()) === 0);
    const delivered = (name: string) =>
      new Set(receiver.requests.map(({ headers }) => headers[name]).filter((value) => value !== undefined));
    await eventually('every callback came', () => ids.every((id) => delivered('x-service-delivery').has(id)));
    const bodies = () =>
      new Set(receiver.requests.map(({ body }) => /"id":"(rolling-\d+)"/.exec(body.toString())?.[1]));
    await eventually('every event came', () => events.every((id) => bodies().has(id)));
    for (const id of ids) assert.equal(await stateOf(id), 'completed');

    await following;
    const { json: feed } = await pairs.send('GET', `/api/v1/tasks/${long}/events`);
    assert.deepEqual(
      seen,
      feed.data.map(({ seq }: { seq: number }) => seq),
    );
  });

  it('opens at most the number of PostgreSQL connections in docs/deploying.md', async () => {
    const page = readFileSync(inCheckout('docs', 'deploying.md'), 'utf8');
    const figureOf = (title: string) =>
      Number(new RegExp(`^\\| ${title} \\| (\\d+) \\|`, 'm').exec(page)?.[1]);
    const most = ['API', 'gateway', 'task worker', 'delivery worker'].map(figureOf);
    const open: number[] = [];
    const burst = Array.from({ length: 150 }, (_, number) =>
      Promise.all([
        sendSurely('/api/v1/tasks', task({ callback_url: receiver.url }), `burst-${number}`),
        sendSurely('/api/v1/events', event(`burst-${number}`), `burst-event-${number}`),
      ]),
    );
    let isOver = false;
    const done = Promise.all(burst).finally(() => (isOver = true));
    await withClient(pairs.databaseUrl, async (client) => {
      while (!isOver) {
        const { rows } = await client.query<{ count: number }>(
          'select count(*)::int from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        );
        open.push(rows[0]?.count ?? 0);
        await wait(20);
      }
    });
    await done;
    const limit = 2 * most.reduce((sum, one) => sum + one, 0);
    assert.ok(Math.max(...open) <= limit, `${Math.max(...open)} of ${limit}`);
    assert.ok(Math.max(...open) > limit / 4, `${Math.max(...open)}`);
  });

  async function openRuns(): Promise<number> {
    const { rows } = await withClient(pairs.databaseUrl, (client) =>
      client.query<{ state: TaskState }>('select state from task_runs'),
    );
    return rows.filter(({ state }) => !isTerminal(state)).length;
  }

  /** Follows a run to its end over any number of connections. Each continues after the last event. */
  async function followOn(id: string, token: string, seen: number[]): Promise<void> {
    const over = Promise.withResolvers<void>();
    for (let isOver = false; !isOver; ) {
      const view = await plainClient
        ?.follow(pairs.gateways.url, token, id, {
          after: seen.at(-1) ?? 0,
          onEvent({ seq, type }) {
            seen.push(seq);
            if (type !== 'run.ended') return;
            isOver = true;
            over.resolve();
          },
        })
        .catch(() => null);
      if (!view) {
        await wait(EVERY_MS);
        continue;
      }
      await Promise.race([view.ended, over.promise]);
      await view.disconnect();
    }
  }
});
