import assert from 'node:assert/strict';
import { createApi } from '../../cli/http.ts';
import { listen } from '../../cli/listen.ts';
import { eventually } from '../support/eventually.ts';
import { type FakeChannel, type Peer, startFakeChannel } from './fake-channel.ts';

const REQUEST = {
  type: 'request',
  id: 'request-1',
  webhook_id: 'w',
  delivery_id: 'd',
  event: 'issue.created',
};

describe('listening by the command line', () => {
  let server: FakeChannel;
  let stop: AbortController;
  let listening: Promise<void>;
  let late: string[];
  let refused: string[];
  beforeEach(async () => {
    server = await startFakeChannel();
    stop = new AbortController();
    late = [];
    refused = [];
  });
  afterEach(async () => {
    stop.abort();
    await listening;
    await server.close();
  });

  function start(): void {
    listening = listen(createApi(server.url, { kind: 'key', key: 'bt_test' }), {
      webhookId: 'w',
      projectId: undefined,
      signal: stop.signal,
      onListening: () => {},
      onLost: () => {},
      onRequest: async () => ({ status: 200, headers: {}, body: '', duration_ms: 1 }) as never,
      onLate: ({ id }) => void late.push(id),
      onRefused: ({ id }, reason) => void refused.push(`${id}: ${reason}`),
    });
  }
  const answers = () => server.messages.filter(({ type }) => type === 'answer');
  /** Accepts listening, sends a request, and responds to answers. */
  function serveRequest(onAnswer: (id: string, peer: Peer) => void): void {
    server.onMessage = ({ id, type }, peer) => {
      if (type === 'answer') return onAnswer(id, peer);
      peer.send({ type: 'listening', id });
      peer.send(REQUEST);
    };
  }

  it('sends a response again that came too fast', async () => {
    serveRequest((id, peer) =>
      peer.send(
        answers().length === 1
          ? { type: 'refused', id, code: 'rate_limited', message: 'Too many.', room: null }
          : { type: 'answered', id, request_id: REQUEST.id, in_time: true },
      ),
    );
    start();
    await eventually('it is sent again', () => answers().length === 2);
    assert.deepEqual(
      answers().map((answer) => answer.request_id),
      [REQUEST.id, REQUEST.id],
    );
    assert.deepEqual(late, []);
  });

  it('reports a response that was too late', async () => {
    serveRequest((id, peer) => peer.send({ type: 'answered', id, request_id: REQUEST.id, in_time: false }));
    start();
    await eventually('it is reported', () => late.length === 1);
  });

  for (const code of ['invalid_message', 'unavailable'])
    it(`reports a response that was refused as ${code}, and keeps listening`, async () => {
      serveRequest((id, peer) => {
        const isFirst = answers().length === 1;
        peer.send(
          isFirst
            ? { type: 'refused', id, code, message: 'No.', room: null }
            : { type: 'answered', id, request_id: 'request-2', in_time: true },
        );
        if (isFirst) peer.send({ ...REQUEST, id: 'request-2' });
      });
      start();
      await eventually('the next response is sent', () => answers().length === 2);
      assert.deepEqual(refused, [`${REQUEST.id}: No.`]);
      assert.equal(server.messages.filter(({ type }) => type === 'listen').length, 1);
    });

  for (const code of ['server_stopping', 'token_expired'])
    it(`connects again after the reason ${code}`, async () => {
      server.onMessage = ({ id }, peer) => {
        peer.send({ type: 'listening', id });
        if (server.messages.length > 1) return;
        peer.send({ type: 'closed', code, message: 'Bye.' });
        peer.end(1008, code);
      };
      start();
      await eventually('it listens again', () => server.messages.length === 2);
    });
});
