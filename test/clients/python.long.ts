import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';
import { synchronous } from '../../dev/docs/python-client.ts';
import { PYTHON_CLIENT } from '../../dev/types/python-environment.ts';
import { PYTHON_TYPES, pythonTypes } from '../../dev/types/python-types.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { useWorld } from '../support/world.ts';
import {
  installPythonClient,
  strictTypeErrors,
  typeCompleteness,
  type InstalledPythonClient,
} from './installed-python-client.ts';
import { startRelay, type Relay } from '../support/relay.ts';

const run = promisify(execFile);
const SECRET = 'a-secret-between-us';
const NO_ERRORS = '0 errors, 0 warnings, 0 informations';

// oxlint-disable-next-line typescript/no-explicit-any -- what a program reports
type Report = Record<string, any>;

/** A program that accepts and rejects the types of the package. An exception without an error is an error. */
const TYPED = `
from baton_client import AsyncBaton, Baton, FeedEvent, WebhookPayload

def text(event: FeedEvent) -> str:
    if event["type"] == "agent.message":
        return event["data"]["text"]
    return event["data"]["text"]  # pyright: ignore

def key(payload: WebhookPayload) -> str | None:
    return payload["data"]["issue"].get("key") if payload["event"] == "issue.created" else None

def use(baton: Baton) -> None:
    baton.tasks.submit(title="A task")  # pyright: ignore[reportCallIssue]
    baton.tasks.submit(title="A task", project_id="p", task_type="feat")  # pyright: ignore[reportArgumentType]
    baton.tasks.submit(title="A task", project_id="p", metadata={"order": "A-17", "lines": [1, 2]})
    baton.tasks.wait_for("id", until="done")  # pyright: ignore[reportArgumentType]
    baton.events.send({"event": "issue.vanished", "data": {}})  # pyright: ignore
    baton.events.send([])["id"]  # pyright: ignore
    baton.webhooks.change("id", secret=None, active=True)

async def use_async(baton: AsyncBaton) -> list[str]:
    return [task["execution_id"] async for task in baton.tasks.list(state=["failed"], needs_me="true")]
`;

describe('the Python client', function () {
  this.timeout(300_000);
  const world = useWorld();
  const receiver = useCallbackReceiver();
  const children = new Set<ChildProcess>();
  let client: InstalledPythonClient;
  let relay: Relay;

  before('install the package', async () => {
    client = await installPythonClient();
    const page = readFileSync(join(PYTHON_CLIENT, 'README.md'), 'utf8');
    const blocks = [...page.matchAll(/^```python\n# (\S+\.py)\n([\s\S]*?)^```$/gm)];
    const readme = Object.fromEntries(blocks.map(([, name = '', text = '']) => [name, text]));
    assert.equal(Object.keys(readme).length, page.match(/^```python$/gm)?.length, 'a block has no name');
    const program = readFileSync(inCheckout('test', 'clients', 'python_story.py'), 'utf8');
    const withoutLoop = program.replace('import asyncio\n', '').replace('asyncio.run(main())', 'main()');
    const programs = {
      'async_story.py': program,
      'sync_story.py': synchronous(withoutLoop),
      'typed.py': TYPED,
      ...readme,
    };
    mkdirSync(join(client.project, 'programs'));
    for (const [name, text] of Object.entries(programs)) {
      writeFileSync(join(client.project, 'programs', name), text);
    }
  });
  beforeEach(async () => {
    relay = await startRelay(world.api.url);
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    await relay.close();
  });

  function start(program: string, args: string[] = [], more: Record<string, string> = {}): ChildProcess {
    const child = spawn(client.python, [join('programs', program), ...args], {
      cwd: client.project,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        PYTHONUNBUFFERED: '1',
        BATON_URL: world.api.url,
        RELAY_URL: relay.url,
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

  /** Runs a program to its end. Sends the answers to its lines, and returns the lines. */
  async function linesOf(
    child: ChildProcess,
    answer: (line: string) => Promise<unknown> = () => Promise.resolve(undefined),
  ): Promise<string[]> {
    const code = new Promise((resolve) => child.once('close', resolve));
    const lines: string[] = [];
    assert.ok(child.stdout);
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      const reply = await answer(line);
      if (reply !== undefined) child.stdin?.write(`${JSON.stringify(reply)}\n`);
    }
    assert.equal(await code, 0, lines.join('\n'));
    return lines;
  }

  const received = (id: string): Promise<ReceivedRequest> =>
    eventually(
      'the request arrives',
      () => receiver.requests.find(({ headers }) => headers['x-service-delivery'] === id) ?? null,
    );
  const asReported = ({ body, headers }: ReceivedRequest) => ({ body: body.toString(), headers });
  /** What a story asks for, by the field of its report. */
  const answers: Record<string, (value: string) => Promise<unknown>> = {
    cut: () => Promise.resolve(relay.cut()),
    close: () => relay.close(),
    stopped: () => eventually('the connection is closed', () => !relay.isInUse()),
    callback: async (id) => asReported(await received(id)),
    async delivery(webhook) {
      const id = await eventually('the delivery has succeeded', async () => {
        const { json } = await world.send('GET', `/api/v1/webhooks/${webhook}/deliveries`);
        return json.data[0]?.status === 'succeeded' && String(json.data[0].id);
      });
      return asReported(await received(id));
    },
    retried: (id) =>
      eventually('the retry is recorded', async () => {
        const { json } = await world.send('GET', `/api/v1/deliveries/${id}`);
        return json.attempts.length === 2;
      }),
  };

  /** Runs one story and returns what it reports, without its questions. */
  async function story(program: string, name: string): Promise<Report> {
    const reported: Report = {};
    await linesOf(start(program, [name]), async (line) => {
      const report = JSON.parse(line) as Report;
      const [field = ''] = Object.keys(report);
      const answer = answers[field];
      if (answer !== undefined) return (await answer(report[field])) ?? null;
      Object.assign(reported, report);
      return undefined;
    });
    return reported;
  }

  it('has up-to-date generated types', async () => {
    const isCurrent = readFileSync(PYTHON_TYPES, 'utf8') === (await pythonTypes());
    assert.ok(isCurrent, 'run `node dev/types/python-types.ts`');
  });

  it('contains the package with its types in the version of the service, and nothing else', async () => {
    const list = 'import sys, zipfile; print(*zipfile.ZipFile(sys.argv[1]).namelist(), sep="\\n")';
    const { stdout } = await run(client.python, ['-c', list, client.wheel]);
    const { version } = JSON.parse(readFileSync(inCheckout('package.json'), 'utf8'));
    const files = stdout.trim().split('\n');
    const own = new RegExp(
      `^baton_client(/(\\w+/)?\\w+\\.py|-${version}\\.dist-info/(METADATA|WHEEL|RECORD))$`,
    );
    const others = files.filter((file) => !own.test(file));
    assert.deepEqual(others, ['baton_client/py.typed']);
  });

  it('has complete types, which strict programs can use', async () => {
    const sources = join(client.project, 'sources');
    for (const part of ['src', 'tests']) {
      cpSync(join(PYTHON_CLIENT, part), join(sources, part), { recursive: true });
    }
    assert.equal(await strictTypeErrors(client, sources), NO_ERRORS);
    assert.equal(await strictTypeErrors(client, join(client.project, 'programs')), NO_ERRORS);
    assert.equal(await typeCompleteness(client), '100%');
  });

  it('passes its own tests', async () => {
    const tests = join(client.project, 'own-tests');
    cpSync(join(PYTHON_CLIENT, 'tests'), tests, { recursive: true });
    cpSync(join(PYTHON_CLIENT, 'pyproject.toml'), join(tests, 'pyproject.toml'));
    const result = await run(client.python, ['-m', 'pytest', tests], { cwd: tests }).catch(
      (error: Error & { stdout: string }) => error,
    );
    assert.match(result.stdout, /\n\d+ passed in/);
    assert.ok(!(result instanceof Error), result.stdout);
  });

  for (const [form, program] of [
    ['without asyncio', 'sync_story.py'],
    ['with asyncio', 'async_story.py'],
  ] as const) {
    describe(form, () => {
      it('follows a run across broken connections, answers a question, and verifies the callback', async () => {
        const reported = await story(program, 'run');
        const [first] = reported['events'];
        const { json } = await world.send('GET', `/api/v1/tasks/${first.execution_id}/events`);
        assert.deepEqual(reported['events'], json.data);
        assert.deepEqual(
          [reported['answered'], reported['ended'], reported['read'], reported['resumed']],
          [
            [true, true],
            ['completed', 'completed', true, 1],
            ['# Größe', true, []],
            [json.data.length - 1, json.data.length],
          ],
        );
        assert.ok(reported['transports'].length > 1, 'no connection was broken');
        assert.deepEqual([...new Set(reported['transports'])], ['stream']);
      });

      it('stops following, pauses, continues, cancels, reruns and erases a task', async () => {
        assert.deepEqual(await story(program, 'control'), {
          states: ['paused', 'executing', 'cancelled'],
          rerun_of: true,
          refused: [
            [404, 'not_found', true],
            [409, 'invalid_state', true],
            [422, 'validation_failed', true],
          ],
        });
      });

      it('sends events, verifies and retries deliveries, and manages a webhook', async () => {
        const { addresses, ...reported } = await story(program, 'webhook');
        assert.ok(Array.isArray(addresses));
        assert.deepEqual(reported, {
          payload: [true, 'Größe ✓'],
          attempts: ['automatic', 'manual'],
          many: 600,
          tested: 204,
          state: 'inactive',
          recovered: 0,
          previewed: true,
          stats: 0,
          left: [],
          kinds: 10,
        });
      });

      it('polls with a token if streams do not work', async () => {
        assert.deepEqual(await story(program, 'polling'), { transports: ['polling'], complete: true });
      });

      it('waits for an unavailable service up to the given time', async () => {
        assert.deepEqual(await story(program, 'unreachable'), {
          unreachable: 'ConnectError',
          failures: true,
        });
      });
    });
  }

  describe('in its readme', () => {
    it('is used to submit, follow, answer and control tasks', async () => {
      assert.match(
        (await linesOf(start('submit.py'))).join('\n'),
        /is done\n[\s\S]*ended completed\ncompleted \{/,
      );
      assert.deepEqual(await linesOf(start('answer.py')), ['CSV or JSON?', 'ended completed']);
      const lines = (await linesOf(start('steer.py'))).join('\n');
      assert.match(lines, /^still paused\n[0-9a-f-]{36} Slowly\n/);
      assert.match(lines, /\n\d of the newest\n422 validation_failed \/title [0-9a-f-]{36}$/);
    });

    it('is used to send events and to receive only valid callbacks and deliveries', async () => {
      assert.match(
        (await linesOf(start('send.py'))).join('\n'),
        /^accepted evt_\w+\naccepted 700\nstatus 204$/,
      );
      // The callback goes to a receiver with a certificate. Its request is then passed to the program.
      const { json } = await world.submit({ callback_url: receiver.url });
      const callback = await received(json.execution_id);
      const secrets = JSON.stringify({ [json.execution_id]: json.callback_secret });
      const child = start('receive.py', [], { PORT: '0', CALLBACK_SECRETS: secrets });
      const lines: string[] = [];
      assert.ok(child.stdout);
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
      const port = await eventually(
        'the receiver listens',
        () => /port (\d+)/.exec(lines.join(' '))?.[1] ?? null,
      );
      const url = `http://127.0.0.1:${port}`;
      const pass = async (body: string) => {
        const { 'x-service-signature': signature, 'x-service-delivery': delivery } = callback.headers;
        const headers = { 'X-Service-Signature': String(signature), 'X-Service-Delivery': String(delivery) };
        return (await fetch(`${url}/callbacks`, { method: 'POST', headers, body })).status;
      };
      const body = callback.body.toString();
      assert.deepEqual([await pass(body), await pass(body.replace('completed', 'escalated'))], [204, 401]);
      const test = async (secret: string) => {
        const plan = { name: 'Program', url, secret, events: [{ event: 'issue.updated' }] };
        const { json: webhook } = await world.send('POST', '/api/v1/webhooks', { body: plan });
        const path = `/api/v1/webhooks/${webhook.id}/test`;
        return (await world.send('POST', path, { body: { event: 'issue.updated' } })).json.response.status;
      };
      assert.deepEqual([await test(SECRET), await test('another')], [204, 401]);
      await eventually(
        'the program prints both',
        () => lines.filter((line) => /^(task|issue) /.test(line)).length === 2,
      );
    });
  });
});
