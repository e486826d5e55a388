import assert from 'node:assert/strict';
import { followRun } from '../../cli/follow.ts';
import { CliError } from '../../cli/exit-codes.ts';
import { createApi } from '../../cli/http.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { type Answering } from '../support/receiver.ts';

const event = (seq: number): FeedEvent => ({
  seq,
  type: 'step.progress',
  execution_id: 'e',
  at: '2026-01-31T12:00:00.000Z',
  data: {},
});
const text = (seq: number) => `id: ${seq}\ndata: ${JSON.stringify(event(seq))}\n\n`;

describe('following a run without the live channel', () => {
  const server = useReceiver('each test');

  /** Returns these responses to event requests in turn, and the detail of a run that ended with `lastSeq`. */
  const serving = (lastSeq: number, ...responses: Answering[]) =>
    server.answering((request, response) => {
      if (request.url === '/api/v1/tokens') return 404;
      if (request.url.includes('/events')) return (responses.shift() ?? (() => 404))(request, response);
      const run = { state: 'completed', last_seq: lastSeq, callback: { status: 'none' } };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(run));
      return undefined;
    });
  const streaming =
    (seqs: readonly number[], { cut = false } = {}): Answering =>
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`: connected\n\n${seqs.map(text).join('')}`, () =>
        cut ? setTimeout(() => response.socket?.destroy(), 50) : response.end(),
      );
      return undefined;
    };
  const follow = async (after = 0, patienceMs = 60_000) => {
    const lost: string[] = [];
    const transports: string[] = [];
    const api = createApi(server.url, { kind: 'key', key: 'bt_test' });
    const options = {
      after,
      patienceMs,
      onLost: (reason: string) => lost.push(reason),
      onOtherTransport: (_reason: string, transport: string) => transports.push(transport),
    };
    const followed = { api, id: 'e', projectId: 'p' };
    const seqs = (await Array.fromAsync(followRun(followed, options))).map(({ seq }) => seq);
    return { seqs, lost, transports };
  };
  const eventQueries = () =>
    server.requests.filter(({ url }) => url.includes('/events')).map(({ url }) => url.split('?')[1]);

  it('ends with the last event', async () => {
    serving(3, streaming([1, 2, 3]));
    assert.deepEqual(await follow(), { seqs: [1, 2, 3], lost: [], transports: ['server-sent events'] });
    const stream = server.requests.find(({ url }) => url.includes('/events'));
    assert.equal(stream?.headers.accept, 'text/event-stream');
    assert.equal(stream?.headers['x-api-key'], 'bt_test');
  });

  it('continues after the last seq without gap or repeat if the connection breaks', async () => {
    serving(4, streaming([1, 2], { cut: true }), streaming([2, 3, 4]));
    const { seqs, lost } = await follow();
    assert.deepEqual(seqs, [1, 2, 3, 4]);
    assert.deepEqual(lost, [], 'the server was available all the time');
    assert.deepEqual(eventQueries(), ['after=0', 'after=2']);
  });

  it('polls if streams have no events', async () => {
    const empty = streaming([]);
    const listed: Answering = (request, response) => {
      assert.equal(request.headers.accept, 'application/json');
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ data: [event(1), event(2)] }));
      return undefined;
    };
    serving(2, empty, empty, empty, listed);
    const { seqs, transports } = await follow();
    assert.deepEqual(seqs, [1, 2]);
    assert.deepEqual(transports, ['server-sent events', 'polling']);
  });

  it('ends at once if no event follows', async () => {
    serving(7, streaming([]));
    assert.deepEqual((await follow(7)).seqs, []);
  });

  it('fails if the request is rejected', async () => {
    serving(1, () => 404);
    await assert.rejects(follow(), (error) => error instanceof CliError && error.exitCode === 5);
  });

  it('fails if the server stays unavailable', async () => {
    await server.close();
    await assert.rejects(follow(0, 0), (error) => error instanceof CliError && error.exitCode === 6);
  });
});
