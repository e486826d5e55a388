import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { ModuleKind, ScriptTarget, transpile } from 'typescript';
import { useReceiver, startCallbackReceiver } from '../support/callback-receiver.ts';
import { useWorld } from '../support/world.ts';
import { eventually } from '../support/eventually.ts';
import { installedClient, type InstalledClient } from './installed-client.ts';
import { typeCheck } from './type-check.ts';

const SECRET = 'a-secret-between-us';

describe('the readme of the client package', function () {
  this.timeout(90_000);
  let client: InstalledClient;
  let blocks: Record<string, string>;
  const world = useWorld();
  const children = new Set<ChildProcess>();
  const receiver = useReceiver();

  before(async () => {
    client = await installedClient();
    const readme = readFileSync(join(client.folder, 'README.md'), 'utf8');
    const found = [...readme.matchAll(/^```ts\n\/\/ (\S+\.ts)\n([\s\S]*?)^```$/gm)];
    blocks = Object.fromEntries(found.map(([, name = '', text = '']) => [name, text]));
    assert.equal(Object.keys(blocks).length, readme.match(/^```ts$/gm)?.length, 'a block has no name');
    mkdirSync(join(client.project, 'readme'));
    for (const [name, text] of Object.entries(blocks)) {
      writeFileSync(join(client.project, 'readme', name), text);
      writeFileSync(join(client.project, 'readme', name.replace(/ts$/, 'js')), asJavaScript(text));
    }
  });
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  /** Runs a block to its end with this or another Node. Returns its output. */
  async function outputOf(file: string, node = process.execPath): Promise<string> {
    const child = start(file, node);
    const chunks: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => chunks.push(String(chunk)));
    const [code] = await once(child, 'close');
    assert.equal(code, 0, chunks.join(''));
    return chunks.join('');
  }

  function start(file: string, node: string, more: Record<string, string> = {}): ChildProcess {
    const child = spawn(node, [join('readme', file)], {
      cwd: client.project,
      env: {
        PATH: process.env['PATH'],
        BATON_URL: world.api.url,
        BATON_API_KEY: world.installation.api_key,
        BATON_PROJECT: world.installation.project_id,
        WEBHOOK_SECRET: SECRET,
        RECEIVER_URL: receiver.url,
        ...more,
      },
    });
    children.add(child);
    child.once('close', () => children.delete(child));
    return child;
  }

  it('contains programs that compile with strict types', () => {
    assert.ok(Object.keys(blocks).length >= 6);
    const options = { module: 'nodenext', lib: ['esnext', 'dom', 'dom.iterable'], types: ['node'] };
    assert.equal(typeCheck(client.project, blocks, options), '');
  });

  it('shows how to submit a task and follow it to its end', async () => {
    assert.match(await outputOf('submit.ts'), /is done\n[\s\S]*ended completed\ncompleted \{/);
  });

  it('shows how to control and list tasks, and how to read a problem', async () => {
    const lines = await outputOf('steer.ts');
    assert.match(lines, /^still paused\n[0-9a-f-]{36} Slowly\n/);
    assert.match(lines, /\n\d of the newest\n422 validation_failed \/title [0-9a-f-]{36}\n$/);
  });

  it('shows how to send events and test a webhook', async () => {
    assert.match(await outputOf('send.ts'), /^accepted evt_\w+\naccepted 700\nstatus 204\n$/);
  });

  it('shows how to receive only valid callbacks and deliveries', async () => {
    const { createBaton } = await client.load();
    const baton = createBaton({ baseUrl: world.api.url, apiKey: world.installation.api_key });
    // The callback goes to a receiver with a certificate. Its request is then passed to the program.
    const secure = await startCallbackReceiver();
    const { execution_id: id, callback_secret: secret } = await baton.tasks.submit({
      title: 'With a callback',
      project_id: world.installation.project_id,
      callback_url: secure.url,
    });
    const [callback] = await secure.receives(1);
    await secure.close();
    assert.ok(callback);

    const child = start('receive.ts', process.execPath, {
      PORT: '0',
      CALLBACK_SECRETS: JSON.stringify({ [id]: secret }),
    });
    try {
      const lines: string[] = [];
      assert.ok(child.stdout);
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
      const port = await eventually(
        'the receiver listens',
        () => /port: (\d+)/.exec(lines.join(' '))?.[1] ?? null,
      );
      const url = `http://127.0.0.1:${port}`;
      const pass = async (body: string) => {
        const headers = callback.headers as Record<string, string>;
        return (await fetch(`${url}/callbacks`, { method: 'POST', headers: signedOf(headers), body })).status;
      };
      assert.equal(await pass(callback.body.toString()), 204);
      assert.equal(await pass(callback.body.toString().replace('completed', 'escalated')), 401);
      await eventually('the program prints the callback', () =>
        lines.some((line) => line.startsWith(`task ${id} completed`)),
      );

      const webhook = await baton.webhooks.create({
        name: 'To the program',
        url,
        secret: SECRET,
        events: [{ event: 'issue.updated', filters: [] }],
      });
      assert.equal((await baton.webhooks.test(webhook.id, { event: 'issue.updated' })).response?.status, 204);
      await eventually('the program prints the event', () => lines.some((line) => line.startsWith('issue ')));
      await baton.webhooks.rotateSecret(webhook.id, { overlap_hours: 0 });
      assert.equal((await baton.webhooks.test(webhook.id, { event: 'issue.updated' })).response?.status, 401);
    } finally {
      child.kill();
      await once(child, 'close');
    }
  });

  it('contains programs that run on Node 20 without TypeScript', async function () {
    const node = oldNode();
    if (node === null) {
      console.log('    skipped: no Node 20 or 21 is on the path');
      return this.skip();
    }
    assert.match(await outputOf('submit.js', node), /is done\n[\s\S]*ended completed\ncompleted \{/);
    assert.match(await outputOf('send.js', node), /\naccepted 700\n/);
  });
});

function signedOf(headers: Record<string, string>): Record<string, string> {
  const names = ['content-type', 'x-service-signature', 'x-service-delivery', 'x-service-event'];
  return Object.fromEntries(names.map((name) => [name, headers[name] ?? '']));
}

/** Returns the program as JavaScript. */
function asJavaScript(text: string): string {
  return transpile(text, { target: ScriptTarget.ES2022, module: ModuleKind.ESNext });
}

/** Returns a Node of version 20 or 21 on this machine, or null. */
function oldNode(): string | null {
  const paths = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  const isOld = (path: string) =>
    existsSync(path) && /^v2[01]\./.test(spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout);
  return paths.find(isOld) ?? null;
}
