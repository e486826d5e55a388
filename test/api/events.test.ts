import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { recordChange } from '../../src/database/tasks/feed.ts';
import { feedOf, quietRun } from '../gateway/quiet-runs.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { useOwnWorld, useWorld } from '../support/world.ts';

type Event = { seq: number; type: string; execution_id: string; at: string; data: Record<string, unknown> };

describe('the events of a run', () => {
  const world = useWorld();
  const receiver = useCallbackReceiver();

  const submitted = async (rehearsal: object, members: object = {}) =>
    (await world.submit({ metadata: { rehearsal }, ...members })).json.execution_id as string;
  const recordMessages = async (executionId: string, count: number) => {
    const step = { id: randomUUID(), name: 'one', agent: 'ada', attempt: 1 };
    const entries = Array.from({ length: count }, () => ({
      key: randomUUID(),
      type: 'agent.message' as const,
      at: new Date().toISOString(),
      data: { step, text: 'Working' },
    }));
    await recordChange(world.database, { executionId, view: null, entries });
  };
  /** Reads a stream until its end. */
  const follow = async (id: string, query = '', headers: Record<string, string> = {}) => {
    const received = await world.send('GET', `/api/v1/tasks/${id}/events${query}`, {
      headers: { Accept: 'text/event-stream', ...headers },
    });
    return { ...received, events: eventsOf(received.text) };
  };

  it('are numbered 1, 2, 3 … and end with run.ended', async () => {
    const id = await submitted({ steps: 2 });
    await world.reaches(id, 'completed');
    const { json } = await world.send('GET', `/api/v1/tasks/${id}/events`);
    const seqs = json.data.map((event: Event) => event.seq);
    assert.deepEqual(
      seqs,
      Array.from({ length: seqs.length }, (_, index) => index + 1),
    );
    assert.equal(json.data.at(-1).type, 'run.ended');
    assert.equal(json.last_seq, seqs.length);
  });

  it('can be read after a seq, including the last one', async () => {
    const id = await submitted({ steps: 1 });
    await world.reaches(id, 'completed');
    const { json: all } = await world.send('GET', `/api/v1/tasks/${id}/events`);
    const { json: some } = await world.send('GET', `/api/v1/tasks/${id}/events?after=2`);
    assert.deepEqual(some.data, all.data.slice(2));
    const { json: none } = await world.send('GET', `/api/v1/tasks/${id}/events?after=9999`);
    assert.deepEqual(none, { data: [], last_seq: all.last_seq });
  });

  it('are read while they are sent if there are many', async () => {
    const id = await quietRun(world.database, world.installation);
    const listed = async (after: number) =>
      (await world.send('GET', `/api/v1/tasks/${id}/events?after=${after}`)).json as {
        data: { seq: number }[];
        last_seq: number;
      };
    for (const [count, written] of [
      [499, 499],
      [1, 500],
      [701, 1_201],
    ] as const) {
      await recordMessages(id, count);
      const list = await listed(0);
      assert.deepEqual(list, { data: await feedOf(world.database, id), last_seq: written });
      assert.equal(list.data.length, written);
    }
    const { headers } = await world.send('GET', `/api/v1/tasks/${id}/events`);
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(headers.get('content-length'), null, 'its length is not known when it begins');
    assert.deepEqual(
      (await listed(701)).data.map(({ seq }) => seq),
      Array.from({ length: 500 }, (_, index) => 702 + index),
    );
  });

  it('can be read in pages', async () => {
    const id = await quietRun(world.database, world.installation);
    await recordMessages(id, 5);
    const page = async (query: string) =>
      (await world.send('GET', `/api/v1/tasks/${id}/events?${query}`)).json as {
        data: { seq: number }[];
        last_seq: number;
      };
    const seqs = ({ data, last_seq }: Awaited<ReturnType<typeof page>>) => [
      data.map(({ seq }) => seq),
      last_seq,
    ];
    assert.deepEqual(seqs(await page('limit=2')), [[1, 2], 5]);
    assert.deepEqual(seqs(await page('limit=3&after=2')), [[3, 4, 5], 5]);
    assert.deepEqual(seqs(await page('limit=3&after=5')), [[], 5]);
    for (const limit of ['0', '501', 'x']) {
      const { status } = await world.send('GET', `/api/v1/tasks/${id}/events?limit=${limit}`);
      assert.equal(status, 400, limit);
    }
  });

  it('are read in pages over MCP, each with the URI of the next one', async () => {
    const id = await quietRun(world.database, world.installation);
    await recordMessages(id, 701);
    const read = async (uri: string) => {
      const { text } = await world.send('POST', '/mcp', {
        body: { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } },
        headers: { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-06-18' },
      });
      const [content] = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '').result.contents;
      assert.equal(content.mimeType, 'application/json');
      return JSON.parse(content.text);
    };
    const all = await feedOf(world.database, id);
    const first = await read(`baton://tasks/${id}/events`);
    const next = `baton://tasks/${id}/events?after=500`;
    assert.deepEqual(first, { data: all.slice(0, 500), last_seq: 701, next });
    assert.deepEqual(await read(next), { data: all.slice(500), last_seq: 701, next: null });
    const end = await read(`baton://tasks/${id}/events?after=701`);
    assert.deepEqual(end, { data: [], last_seq: 701, next: null });
  });

  it('are streamed completely if the run has ended and has many', async () => {
    const id = await quietRun(world.database, world.installation);
    await recordMessages(id, 1_201);
    await world.database.em
      .fork()
      .execute(`update task_runs set state = 'completed', completed_at = now() where id = ?`, [id]);
    const { events } = await follow(id);
    assert.deepEqual(events, await feedOf(world.database, id));
  });

  it('are streamed as server-sent events until the run ends', async () => {
    const id = await submitted({ steps: 3, step_ms: 100 });
    const { headers, events, status } = await follow(id);
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
    const { json } = await world.send('GET', `/api/v1/tasks/${id}/events`);
    assert.deepEqual(events, json.data);
    assert.equal(events.at(-1)?.type, 'run.ended');
  });

  it('are streamed as they occur, not only after the run has ended', async () => {
    const id = await submitted({ steps: 1, step_ms: 60_000 });
    const response = await fetch(`${world.api.url}/api/v1/tasks/${id}/events`, {
      headers: { Accept: 'text/event-stream', 'X-API-Key': world.installation.api_key },
    });
    const seen = await readUntil(response, 'step.started');
    assert.ok(seen.includes('id: 1\n'));
    await world.send('POST', `/api/v1/tasks/${id}/cancel`);
  });

  for (const [how, pathOf, more] of [
    ['', (id: string) => `/api/v1/tasks/${id}/events`, {}],
    [' over A2A', (id: string) => `/a2a/tasks/${id}:subscribe`, { 'A2A-Version': '1.0' }],
  ] as const) {
    it(`are streamed${how} until the key is revoked`, async () => {
      const owner = await world.signIn();
      const body = { name: 'For a stream', project_id: world.installation.project_id };
      const { json: made } = await world.send('POST', '/api/v1/keys', { ...world.as(owner), body });
      const id = await submitted({ steps: 1, step_ms: 600_000 });
      const headers = { Accept: 'text/event-stream', 'X-API-Key': made.key, ...more };
      const response = await fetch(`${world.api.url}${pathOf(id)}`, { headers });
      assert.equal(response.status, 200);
      const reader = response.body?.getReader();
      await reader?.read();
      await world.send('DELETE', `/api/v1/keys/${made.id}`, world.as(owner));
      for (let isOver = false; !isOver; ) isOver = (await reader?.read())?.done ?? true;
      assert.notEqual((await world.send('GET', `/api/v1/tasks/${id}`)).json.state, 'completed');
      await world.send('POST', `/api/v1/tasks/${id}/cancel`);
    });
  }

  it('are streamed after Last-Event-ID, with 204 if there are no more', async () => {
    const id = await submitted({ steps: 1 });
    const { events } = await follow(id);
    const rest = await follow(id, '', { 'Last-Event-ID': '2' });
    assert.deepEqual(rest.events, events.slice(2));
    const nothing = await follow(id, '', { 'Last-Event-ID': String(events.length) });
    assert.equal(nothing.status, 204);
    const behind = await follow(id, '?after=9999');
    assert.equal(behind.status, 200);
    assert.deepEqual(behind.events, []);
  });

  it('end with the attempts of the callback', async () => {
    receiver.answering(() => (receiver.requests.length === 1 ? 500 : 204));
    const id = await submitted({ steps: 1 }, { callback_url: receiver.url });
    const { events } = await follow(id);
    assert.deepEqual(
      events.slice(-3).map(({ type }) => type),
      ['run.ended', 'callback.attempted', 'callback.attempted'],
    );
    const { json } = await world.send('GET', `/api/v1/tasks/${id}`);
    assert.equal(json.callback.attempts.length, 2);
    assert.equal(json.state, 'completed');
  });
});

describe('a stream of events', () => {
  const world = useOwnWorld();

  it('ends when the service stops, like responses held by Prefer: wait', async () => {
    const { json } = await world.submit({ metadata: { rehearsal: { plan_ms: 3_600_000 } } });
    const path = `/api/v1/tasks/${json.execution_id}`;
    await world.reaches(json.execution_id, 'planning');
    const response = await fetch(`${world.api.url}${path}/events`, {
      headers: { Accept: 'text/event-stream', 'X-API-Key': world.installation.api_key },
    });
    const arrival = once(world.api.server, 'request');
    const held = world.send('GET', path, { headers: { Prefer: 'wait=60' } });
    await arrival;
    const stream = response.text();
    assert.equal(await Promise.race([held, stream, wait(200, 'held')]), 'held');
    const [answered, events] = await Promise.all([held, stream, world.api.close()]);
    assert.deepEqual([answered.status, answered.json.state], [200, 'planning']);
    assert.ok(events.includes('state.changed'));
  });
});

function eventsOf(text: string): Event[] {
  const blocks = text.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'));
  return blocks.map((block) => {
    const [id, data] = block.split('\n');
    const event = JSON.parse((data ?? '').replace(/^data: /, '')) as Event;
    assert.equal(id, `id: ${event.seq}`);
    return event;
  });
}

/** Reads a stream until it contains a text, then closes it. */
async function readUntil(response: Response, text: string): Promise<string> {
  const decoder = new TextDecoder();
  let seen = '';
  for await (const chunk of response.body ?? []) {
    seen += decoder.decode(chunk, { stream: true });
    if (seen.includes(text)) break;
  }
  return seen;
}
