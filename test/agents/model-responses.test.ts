import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { failureOf } from '../../src/agents/model-failures.ts';
import { modelsOf } from '../../src/runtime/agent-tools.ts';

const MIB = 1_048_576;
const MODEL = 'openai-compatible/test';
const KEY = 'gw_live_0123456789abcdefghijklmnopqrstuvwxyz';
/** Small as sent: 2 GiB of blanks in some 2 MB, as 32 members of one gzip file. */
const bomb = Buffer.concat(Array<Buffer>(32).fill(gzipSync(Buffer.alloc(64 * MIB, 32))));

describe('a response of a model provider', () => {
  let server: Server;
  let answer: { status: number; headers: Record<string, string>; body: Buffer };
  let models: ReturnType<typeof modelsOf>;
  before(async () => {
    server = createServer((_request, response) => {
      const headers = { 'content-type': 'application/json', ...answer.headers };
      response.writeHead(answer.status, headers).end(answer.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const none = { apiKey: null, baseUrl: null };
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const openaiCompatible = { apiKey: KEY, baseUrl };
    models = modelsOf({
      defaultModel: null,
      openai: none,
      anthropic: none,
      openaiCompatible,
      historyEvents: 1,
    });
  });
  after(async () => {
    await models.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const failing = async () => {
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];
    const error = await models
      .get(MODEL)
      .doGenerate({ prompt })
      .then(
        () => assert.fail('it was accepted'),
        (reason: unknown) => reason,
      );
    return failureOf(error, MODEL, Date.now(), models.withoutKeys);
  };

  it('is broken off if it is too large when decompressed, and the memory for it is limited', async () => {
    answer = { status: 200, headers: { 'content-encoding': 'gzip' }, body: bomb };
    const before = process.memoryUsage().rss;
    let peak = 0;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
    const failure = await failing().finally(() => clearInterval(watch));
    assert.deepEqual(failure, {
      kind: 'failed',
      message: `${MODEL} sent an unreadable response: The response is too large when decompressed`,
      retryInMs: null,
    });
    assert.ok(peak - before < 512 * MIB, `${Math.round((peak - before) / MIB)} MiB`);
  });

  it('is broken off if it is an error that is too large when decompressed', async () => {
    answer = { status: 500, headers: { 'content-encoding': 'gzip' }, body: bomb };
    assert.match((await failing()).message, /returned 500: The response is too large when decompressed$/);
  });

  it('is cut in the message of the failure after the key was removed, also if the key crosses the end', async () => {
    for (const before of [260, 290, 299]) {
      const error = { message: `${'x '.repeat(before / 2)}${KEY} is not valid` };
      answer = { status: 401, headers: {}, body: Buffer.from(JSON.stringify({ error })) };
      const { message } = await failing();
      assert.match(message, /x x/);
      assert.ok(!message.includes('gw_'), message);
    }
  });

  it('is broken off if it is too large as sent', async () => {
    answer = { status: 200, headers: {}, body: Buffer.alloc(40 * MIB, 32) };
    assert.match((await failing()).message, /sent an unreadable response: .*exceeded/);
  });
});
