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

describe('following the events of a run where there is no channel', () => {
  const server = useReceiver('each test');

  /** Answers event requests one after another as told, and details as of a run that has ended with `lastSeq`. */
  const serving = (lastSeq: number, ...answers: Answering[]) =>
    server.answering((request, response) => {
      if (request.url === '/api/v1/tokens') return 404;
      if (request.url.includes('/events')) return (answers.shift() ?? (() => 404))(request, response);
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
    const ways: string[] = [];
    const api = createApi(server.url, { kind: 'key', key: 'bt_test' });
    const options = {
      after,
      patienceMs,
      onLost: (reason: string) => lost.push(reason),
      onOtherTransport: (_reason: string, transport: string) => ways.push(transport),
    };
    const followed = { api, id: 'e', projectId: 'p' };
    const seqs = (await Array.fromAsync(followRun(followed, options))).map(({ seq }) => seq);
    return { seqs, lost, ways };
  };
  const asked = () =>
    server.requests.filter(({ url }) => url.includes('/events')).map(({ url }) => url.split('?')[1]);

  it('ends with the last one', async () => {
    serving(3, streaming([1, 2, 3]));
    assert.deepEqual(await follow(), { seqs: [1, 2, 3], lost: [], ways: ['server-sent events'] });
    const stream = server.requests.find(({ url }) => url.includes('/events'));
    assert.equal(stream?.headers.accept, 'text/event-stream');
    assert.equal(stream?.headers['x-api-key'], 'bt_test');
  });

  it('goes on behind the last seq after the connection broke, without gap or repeat', async () => {
    serving(4, streaming([1, 2], { cut: true }), streaming([2, 3, 4]));
    const { seqs, lost } = await follow();
    assert.deepEqual(seqs, [1, 2, 3, 4]);
    assert.deepEqual(lost, [], 'the server was there all the time');
    assert.deepEqual(asked(), ['after=0', 'after=2']);
  });

  it('asks again and again where streams bring nothing', async () => {
    const empty = streaming([]);
    const listed: Answering = (request, response) => {
      assert.equal(request.headers.accept, 'application/json');
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ data: [event(1), event(2)] }));
      return undefined;
    };
    serving(2, empty, empty, empty, listed);
    const { seqs, ways } = await follow();
    assert.deepEqual(seqs, [1, 2]);
    assert.deepEqual(ways, ['server-sent events', 'polling']);
  });

  it('ends at once behind the last event', async () => {
    serving(7, streaming([]));
    assert.deepEqual((await follow(7)).seqs, []);
  });

  it('gives up on a refusal', async () => {
    serving(1, () => 404);
    await assert.rejects(follow(), (error) => error instanceof CliError && error.exitCode === 5);
  });

  it('gives up on a server that stays away', async () => {
    await server.close();
    await assert.rejects(follow(0, 0), (error) => error instanceof CliError && error.exitCode === 6);
  });
});
