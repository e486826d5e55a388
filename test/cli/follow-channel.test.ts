import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { followRun } from '../../cli/follow.ts';
import { createApi } from '../../cli/http.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { type FakeChannel, type Peer, type ClientMessage, startFakeChannel } from './fake-channel.ts';

const ID = '0193f0a0-0000-7000-8000-000000000001';
const LAST = 6;
const event = (seq: number): FeedEvent => ({
  seq,
  type: seq === LAST ? 'run.ended' : 'step.progress',
  execution_id: ID,
  at: '2026-01-31T12:00:00.000Z',
  data: {},
});
const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n);

describe('following a run over the live channel', () => {
  let server: FakeChannel;
  /** What happens after each join, in order; the last entry applies to all further joins. */
  let joins: ((peer: Peer, after: number) => void)[];
  let streams: number;
  let isSettled: () => boolean;

  beforeEach(async () => {
    server = await startFakeChannel();
    streams = 0;
    isSettled = () => true;
    server.onRequest = ({ url }, response) => {
      if (url?.includes('/events')) return stream(response, Number(url.split('=')[1]));
      const callback = { status: isSettled() ? 'none' : 'pending' };
      const run = { state: 'completed', last_seq: LAST, callback };
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(run));
    };
    server.onMessage = (message: ClientMessage, peer) => {
      if (message.type !== 'join') return;
      peer.send({ type: 'joined', id: message.id, room: message.room, snapshot: {}, last_seq: LAST });
      const join = joins.length > 1 ? joins.shift() : joins[0];
      join?.(peer, message.after);
    };
  });
  afterEach(() => server.close());

  const stream = (response: ServerResponse, after: number) => {
    streams++;
    const seqs = upTo(after + 1, LAST);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(seqs.map((seq) => `id: ${seq}\ndata: ${JSON.stringify(event(seq))}\n\n`).join(''));
  };
  const sendEvents = (peer: Peer, seqs: readonly number[]) => {
    for (const seq of seqs) peer.send({ type: 'event', event: event(seq) });
  };
  const rest = (peer: Peer, after: number) => sendEvents(peer, upTo(after + 1, LAST));
  const follow = async (after = 0) => {
    const fallbacks: string[] = [];
    const options = {
      after,
      patienceMs: 60_000,
      onLost: (reason: string) => assert.fail(reason),
      onOtherTransport: (reason: string, transport: string) => fallbacks.push(`${transport}: ${reason}`),
    };
    const api = createApi(server.url, { kind: 'key', key: 'bt_test' });
    const events = await Array.fromAsync(followRun({ api, id: ID, projectId: 'p' }, options));
    return { seqs: events.map(({ seq }) => seq), fallbacks };
  };
  const joined = () => server.messages.filter(({ type }) => type === 'join').map(({ after }) => after);

  it('ends with the last event', async () => {
    joins = [rest];
    assert.deepEqual(await follow(), { seqs: upTo(1, LAST), fallbacks: [] });
    assert.equal(server.messages[0].room, `workflow:${ID}`);
    assert.equal(streams, 0);
  });

  it('ends at once if no event follows', async () => {
    joins = [() => {}];
    assert.deepEqual((await follow(LAST)).seqs, []);
  });

  it('ends when the callback is settled, even without an event', async () => {
    joins = [rest];
    let reads = 0;
    isSettled = () => ++reads > 3;
    assert.deepEqual((await follow()).seqs, upTo(1, LAST));
  });

  const breaks: readonly (readonly [how: string, (peer: Peer) => void])[] = [
    ['is terminated', (peer) => setTimeout(peer.cut, 20)],
    ['is closed by a server that stops', (peer) => peer.end(1012, 'server_stopping')],
    ['is closed because of slow reading', (peer) => peer.end(1008, 'slow_reader')],
    ['omits an event', (peer) => sendEvents(peer, [5, 6])],
  ];
  for (const [how, broken] of breaks) {
    it(`continues after the last seq without gap or repeat if the connection ${how}`, async () => {
      const first = (peer: Peer, after: number) => {
        sendEvents(peer, [after + 1, after + 2]);
        broken(peer);
      };
      joins = [first, (peer, after) => sendEvents(peer, upTo(Math.max(1, after - 1), LAST))];
      assert.deepEqual(await follow(), { seqs: upTo(1, LAST), fallbacks: [] });
      assert.deepEqual(joined(), [0, 2]);
      assert.equal(streams, 0);
    });
  }

  it('allows each outage its own time, even without an event between them', async () => {
    const { now } = Date;
    const { onRequest } = server;
    let aheadMs = 0;
    const outages: string[] = [];
    const begin = (peer: Peer) => {
      server.tokenStatus = 503;
      server.onRequest = (_request, response) => response.writeHead(503).end();
      peer.cut();
    };
    const end = (reason: string) => {
      outages.push(reason);
      server.tokenStatus = 201;
      server.onRequest = onRequest;
    };
    joins = [
      begin,
      (peer) => {
        aheadMs = 100_000;
        begin(peer);
      },
      rest,
    ];
    Date.now = () => now() + aheadMs;
    try {
      const api = createApi(server.url, { kind: 'key', key: 'bt_test' });
      const options = { after: 0, patienceMs: 60_000, onLost: end };
      const events = await Array.fromAsync(followRun({ api, id: ID, projectId: 'p' }, options));
      assert.equal(events.length, LAST);
      assert.equal(outages.length, 2);
    } finally {
      Date.now = now;
    }
  });

  it('uses server-sent events if the upgrade is rejected twice', async () => {
    server.refuses = { status: 404, body: '' };
    const { seqs, fallbacks } = await follow();
    assert.deepEqual(seqs, upTo(1, LAST));
    assert.deepEqual(fallbacks, [
      'server-sent events: The live channel is unreachable (Unexpected server response: 404)',
    ]);
    assert.equal(server.tokens.length, 2);
  });

  it('uses server-sent events without a token', async () => {
    server.tokenStatus = 403;
    const { seqs, fallbacks } = await follow();
    assert.deepEqual(seqs, upTo(1, LAST));
    assert.match(fallbacks.join(), /^server-sent events: No token/);
  });

  it('uses server-sent events if the room is rejected', async () => {
    server.onMessage = ({ id, room }, peer) =>
      peer.send({ type: 'refused', id, room, code: 'forbidden', message: 'Not yours.' });
    assert.deepEqual(await follow(), { seqs: upTo(1, LAST), fallbacks: ['server-sent events: Not yours'] });
  });

  it('uses server-sent events after the last seq if the channel breaks twice in a row', async () => {
    joins = [
      (peer, after) => {
        sendEvents(peer, [after + 1, after + 2, after + 3]);
        peer.end(1012, 'server_stopping');
      },
      (peer) => peer.cut(),
    ];
    const { seqs, fallbacks } = await follow();
    assert.deepEqual(seqs, upTo(1, LAST));
    assert.match(fallbacks.join(), /^server-sent events: /);
    assert.deepEqual(joined(), [0, 3]);
    assert.equal(streams, 1);
  });
});
