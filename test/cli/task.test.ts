import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import { failCallback } from '../support/ended-run.ts';
import { keyWith } from '../api/keys.ts';
import { useWorld } from '../support/world.ts';
import { services } from '../support/services.ts';
import { type Cli, cliWith } from './cli-process.ts';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/;

describe('baton task', () => {
  const world = useWorld();
  let cli: Cli;

  beforeEach(() => {
    cli = cliWith({ BATON_URL: world.api.url, BATON_API_KEY: world.installation.api_key });
  });
  afterEach(() => cli.cleanUp());

  const submit = (rehearsal: object, ...more: string[]) =>
    cli.run(['task', 'submit', '--title', 'A task', '--metadata', JSON.stringify({ rehearsal }), ...more]);
  const submitted = async (rehearsal: object): Promise<string> => {
    const { stdout } = await submit(rehearsal, '--json');
    return JSON.parse(stdout).execution_id;
  };

  describe('submit', () => {
    it('submits to the project of the key and shows the four members', async () => {
      const { code, stdout, stderr } = await cli.run(['task', 'submit', '--title', 'A task']);
      assert.deepEqual([code, stderr], [0, '']);
      const [id] = UUID.exec(stdout) ?? [];
      assert.match(stdout, new RegExp(`workflow:${id}`));
      assert.match(stdout, /Callback secret +[0-9a-f]{64}\n/);
      const run = (await world.reaches(id ?? '', 'completed')).json;
      assert.deepEqual([run.project_id, run.task_type], [world.installation.project_id, 'feature']);
    });

    it('accepts every member, and the description from stdin', async () => {
      const args = ['task', 'submit', '--title', 'Größe', '--type', 'bug', '--description-file', '-'];
      const more = ['--metadata', '{"ticket":"T-1"}', '--project', world.installation.project_id];
      // Uses a separate process with a real pipe.
      const { stdout } = await cli.spawn([...args, ...more, '--json'], { input: 'Two\nlines\n' }).ended;
      const created = JSON.parse(stdout);
      assert.deepEqual(Object.keys(created), [
        'execution_id',
        'status_url',
        'websocket_room',
        'callback_secret',
      ]);
      const run = await cli.json(['task', 'get', created.execution_id]);
      assert.deepEqual(
        [run.title, run.task_type, run.description, run.metadata],
        ['Größe', 'bug', 'Two\nlines', { ticket: 'T-1' }],
      );
    });

    it('returns the same run for the same idempotency key', async () => {
      const args = ['task', 'submit', '--title', 'Once', '--idempotency-key', `key-${Date.now()}`];
      assert.deepEqual(await cli.json(args), await cli.json(args));
    });

    it('waits for the end with --wait, and prints one document', async () => {
      const { code, stdout } = await submit({ step_ms: 20 }, '--wait', '--json');
      const run = JSON.parse(stdout);
      assert.deepEqual([code, run.state], [0, 'completed']);
      assert.match(run.callback_secret, /^[0-9a-f]{64}$/);
    });

    const ends = [
      [{}, 'completed', 0],
      [{ unrecoverable: { step: 1 } }, 'failed', 1],
      [{ escalate: { step: 1, reason: 'too hard' } }, 'escalated', 3],
    ] as const;
    for (const [rehearsal, state, exitCode] of ends) {
      it(`with --watch shows a run that ends ${state} line by line, and exits with ${exitCode}`, async () => {
        const { code, stdout } = await submit(rehearsal, '--watch');
        assert.equal(code, exitCode);
        assert.match(stdout, /T\d\d:\d\d:\d\d\.\d{3}Z {2}state initializing -> planning\n/);
        assert.match(stdout, new RegExp(`run ended ${state} after \\d+ ms\\n$`));
        assert.equal((await submit(rehearsal, '--wait')).code, exitCode);
      });
    }
  });

  describe('watch', () => {
    it('prints one event per line with --json, in order and to the last', async () => {
      const id = await submitted({ steps: 3, step_ms: 50, progress_events: 3 });
      const { code, stdout } = await cli.run(['task', 'watch', id, '--json']);
      const events = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      assert.equal(code, 0);
      assert.deepEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => index + 1),
      );
      assert.equal(events.at(-1).type, 'run.ended');
      const { stdout: later } = await cli.run([
        'task',
        'watch',
        id,
        '--json',
        '--after',
        String(events.length - 1),
      ]);
      assert.deepEqual(JSON.parse(later), events.at(-1));
    });

    it('exits with 4 if the run is cancelled', async () => {
      const id = await submitted({ step_ms: 60_000 });
      const watching = cli.start(['task', 'watch', id]);
      await watching.says(/step .+ started/);
      assert.equal((await cli.json(['task', 'cancel', id, '--reason', 'no need'])).execution_id, id);
      const { code, stdout } = await watching.ended;
      assert.equal(code, 4);
      assert.match(stdout, /-> cancelled by key:\S+ \(no need\)/);
    });

    it('exits with 130 without a message on Ctrl-C', async () => {
      const id = await submitted({ step_ms: 60_000 });
      const watching = cli.spawn(['task', 'watch', id]);
      await watching.says(/step .+ started/);
      watching.child.kill('SIGINT');
      const { code, stderr } = await watching.ended;
      assert.deepEqual([code, stderr], [130, '']);
      await cli.run(['task', 'cancel', id]);
    });
  });

  it('pauses and continues', async () => {
    const id = await submitted({ step_ms: 60_000 });
    assert.equal((await cli.json(['task', 'pause', id])).execution_id, id);
    await world.reaches(id, 'paused');
    const { stdout } = await cli.run(['task', 'get', id]);
    assert.match(stdout, /State +paused\n/);
    assert.match(stdout, /Paused +\S+ by key:/);
    const continued = await cli.run(['task', 'continue', id]);
    assert.match(continued.stdout + continued.stderr, new RegExp(`${id} is [a-z]+\n`));
    await world.reaches(id, 'executing');
    assert.equal((await cli.run(['task', 'cancel', id])).code, 0);
    await world.reaches(id, 'cancelled');
    const refused = await cli.run(['task', 'pause', id]);
    assert.equal(refused.code, 5);
    assert.match(refused.stderr, /^baton: .+\(invalid_state, request \S+\)\n$/);
  });

  it('lists by words, submitter and need', async () => {
    const word = `word${Date.now()}`;
    await cli.json(['task', 'submit', '--wait', '--title', `Has a ${word}`]);
    const found = async (...more: string[]) =>
      (await cli.json(['task', 'list', '--search', word.slice(0, -2), ...more])).data.length;
    assert.equal(await found(), 1);
    assert.equal(await found('--created-by', 'me'), 1);
    assert.equal(await found('--created-by', 'user:nobody@example.com'), 0);
    assert.equal(await found('--needs-me'), 0);
    assert.equal(await found('--error', 'step_failed', 'run_timed_out'), 0);
    const refused = await cli.run(['task', 'list', '--search', '?']);
    assert.equal(refused.code, 5);
    assert.match(refused.stderr, /`q` must contain a letter or a digit/);
  });

  it('lists by state, type, metadata and page', async () => {
    const tag = `tag-${Date.now()}`;
    const args = [
      'task',
      'submit',
      '--wait',
      '--title',
      `Listed ${tag}`,
      '--metadata',
      JSON.stringify({ tag }),
    ];
    await cli.json([...args, '--type', 'chore']);
    await cli.json([...args, '--type', 'spec']);
    const list = (...more: string[]) => cli.json(['task', 'list', '--metadata', `tag=${tag}`, ...more]);
    assert.equal((await list()).data.length, 2);
    assert.deepEqual(
      (await list('--type', 'chore', 'bug')).data.map((run: { task_type: string }) => run.task_type),
      ['chore'],
    );
    assert.equal((await list('--state', 'failed')).data.length, 0);
    const page = await list('--limit', '1');
    assert.equal(page.data[0].task_type, 'spec');
    assert.equal((await list('--limit', '1', '--cursor', page.next_cursor)).data[0].task_type, 'chore');
    const { stdout } = await cli.run(['task', 'list', '--metadata', `tag=${tag}`]);
    assert.match(stdout, /^RUN +STATE +DONE.+\n\S+ +completed +100 %/);
  });

  it('shows events and details of a run, and deletes it', async () => {
    const id = await submitted({ steps: 1 });
    await world.reaches(id, 'completed');
    const events = await cli.run(['task', 'events', id]);
    assert.match(events.stdout, /^ {3}1 {2}\S+ {2}state initializing -> planning\n/);
    const { stdout } = await cli.run(['task', 'get', id]);
    assert.match(stdout, /STEP +AGENT +STATUS/);
    assert.match(stdout, /"backend": "rehearsal"/);
    assert.match((await cli.run(['task', 'callbacks', id])).stdout, /No attempts/);
    assert.equal((await cli.run(['task', 'delete', id])).code, 0);
    assert.equal((await cli.run(['task', 'get', id])).code, 5);
  });

  it('shows that a run waits for an answer', async () => {
    const id = await submitted({ steps: 1, ask: { step: 1, question: 'Now?' } });
    await world.reaches(id, 'paused');
    assert.match((await cli.run(['task', 'get', id])).stdout, /State +waiting for an answer\n/);
    assert.match((await cli.run(['task', 'list'])).stdout, new RegExp(`${id} +waiting for an answer `));
    await cli.run(['task', 'cancel', id]);
  });

  it('reruns an escalated run with an answer', async () => {
    const id = await submitted({ steps: 2, escalate: { step: 2, reason: 'Which currency?' } });
    await world.reaches(id, 'escalated');
    const { code, stdout } = await cli.run(['task', 'rerun', id, '--answer', 'Euro', '--wait']);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`Rerun of +${id}, from step-2\n`));
  });

  it('reruns a run with a key that cannot read runs, and stores its callback secret', async () => {
    const body = {
      callback_url: 'https://localhost:1/',
      metadata: { rehearsal: { steps: 1, unrecoverable: { step: 1 } } },
    };
    const { execution_id: id } = (await world.submit(body)).json;
    await world.reaches(id, 'failed');
    const env = { BATON_API_KEY: await keyWith(world, ['tasks:write']) };
    const { code, stdout, stderr } = await cli.run(['task', 'rerun', id], { env });
    assert.equal(code, 0, stderr);
    assert.match(stdout, UUID);
    assert.match(stderr, /Stored the callback secret/);
  });

  it('shows the id and the secret of a submitted run if the secret cannot be stored', async () => {
    const env = { XDG_CONFIG_HOME: join(cli.home, 'file') };
    writeFileSync(env.XDG_CONFIG_HOME, '');
    const args = ['task', 'submit', '--title', 'A task', '--callback-url', 'https://localhost:1/'];
    const metadata = { rehearsal: { steps: 1, unrecoverable: { step: 1 } } };
    const done = await cli.run([...args, '--metadata', JSON.stringify(metadata), '--json'], { env });
    const { execution_id: id, callback_secret: secret } = JSON.parse(done.stdout);
    assert.equal(done.code, 0);
    assert.match(secret, /^[0-9a-f]{64}$/);
    assert.match(done.stderr, /^Could not store the callback secret for `baton receiver`: ENOTDIR.*\n$/);
    await world.reaches(id, 'failed');
    const again = await cli.run(['task', 'rerun', id], { env });
    assert.deepEqual([again.code, UUID.test(again.stdout)], [0, true]);
    assert.match(again.stderr, /^Could not store the callback secret/);
  });

  it('reruns a run from where it stopped or from a named step', async () => {
    const id = await submitted({ steps: 2, ask: { step: 1, question: 'Now?' } });
    await world.reaches(id, 'paused');
    await cli.run(['task', 'cancel', id]);
    await world.reaches(id, 'cancelled');
    const rerunning = cli.start(['task', 'rerun', id, '--wait']);
    const rerun = await eventually(
      'the rerun is created',
      async () => (await cli.json(['task', 'get', id])).reruns[0] ?? null,
    );
    await world.reaches(rerun.execution_id, 'paused');
    await cli.run(['task', 'continue', rerun.execution_id]);
    const again = await rerunning.ended;
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stdout, new RegExp(`Rerun of +${id}, from step-1\n`));
    const other = await cli.json([
      'task',
      'rerun',
      again.stdout.match(UUID)?.[0] ?? '',
      '--from-step',
      'step-2',
    ]);
    assert.equal(other.rerun_from, 'step-2');
    await world.reaches(other.execution_id, 'completed');
    const { stdout } = await cli.run(['task', 'get', other.execution_id]);
    assert.match(stdout, /step-1 +\S+ +completed +kept/);
    assert.match((await cli.run(['task', 'get', id])).stdout, /Reruns +\S+ \(completed\)/);
    const refused = await cli.run(['task', 'rerun', id, '--from-step', 'nope']);
    assert.equal(refused.code, 5);
    assert.match(refused.stderr, /\/from_step: .*step-1, step-2/);
  });

  it('lists and downloads artifacts, and never overwrites a file', async () => {
    const artifact = { step: 1, name: 'notes.md', media_type: 'text/markdown', text: 'It works.' };
    const id = await submitted({ steps: 1, artifact });
    await world.reaches(id, 'completed');
    const { stdout } = await cli.run(['task', 'artifacts', id]);
    assert.match(stdout, /^NAME +TYPE +SIZE.+\nnotes\.md +text\/markdown +9 bytes +step-1/);
    const target = join(cli.home, 'notes.md');
    const download = ['task', 'artifacts', id, '--download', 'notes.md', '--output'];
    assert.deepEqual((await cli.json([...download, target])).size, 9);
    assert.equal(readFileSync(target, 'utf8'), 'It works.');
    const again = await cli.run([...download, target]);
    assert.deepEqual([again.code, /already exists/.test(again.stderr)], [2, true]);
    assert.equal((await cli.run([...download, '-'])).stdout, 'It works.');
    assert.match((await cli.run(['task', 'calls', id])).stdout, /No calls/);
  });

  it('submits a callback that `baton receiver` verifies', async () => {
    const { cert, key } = services().tlsFiles;
    const receiver = cli.spawn(['receiver', '--port', '0', '--cert', cert, '--key', key]);
    const [, url = ''] = await receiver.says(
      /Receiving callbacks and deliveries at (https:\/\/localhost:\d+\/)/,
    );
    const { code, stdout } = await submit(
      { steps: 1, start_ms: 300 },
      '--watch',
      '--callback-url',
      `${url}hook`,
    );
    assert.equal(code, 0);
    assert.match(stdout, /callback attempt 1 delivered \(204\)\n$/);
    const [id] = UUID.exec(stdout) ?? [];
    await receiver.says(new RegExp(`${id} completed {2}signature verified`));
    assert.match((await cli.run(['task', 'callbacks', id ?? ''])).stdout, /1 +automatic +\S+ +204/);
    receiver.child.kill('SIGINT');
    assert.equal((await receiver.ended).code, 130);
  });

  it('has its failed callback sent again', async () => {
    const receiver = await startCallbackReceiver();
    try {
      receiver.answering(500);
      const { stdout } = await submit({ steps: 1 }, '--json', '--callback-url', receiver.url);
      const id = JSON.parse(stdout).execution_id;
      await failCallback(world.database, id);
      receiver.answering(204);
      const retried = await cli.run(['task', 'retry-callback', id]);
      assert.deepEqual([retried.code, retried.stderr], [0, '']);
      assert.equal(retried.stdout, `The callback of ${id} will be retried now\n`);
      const watched = await cli.run(['task', 'watch', id]);
      assert.match(watched.stdout, /manual callback attempt 2 delivered \(204\)\n$/);
      assert.match((await cli.run(['task', 'callbacks', id])).stdout, /2 +manual +\S+ +204/);
      const again = await cli.run(['task', 'retry-callback', id]);
      assert.equal(again.code, 5);
      assert.match(again.stderr, /The callback is delivered/);
    } finally {
      await receiver.close();
    }
  });

  describe('reports', () => {
    it('a validation error with each member and exit code 5', async () => {
      const { code, stdout, stderr } = await submit({ steps: 99 }, '--callback-url', 'http://example.com');
      assert.deepEqual([code, stdout], [5, '']);
      assert.match(stderr, /^baton: .+\(validation_failed, request \S+\)\n/);
      assert.match(stderr, /\n {2}\/callback_url: .*https:\/\//);
      assert.match(stderr, /\n {2}\/metadata\/rehearsal\/steps: /);
      assert.doesNotMatch(stderr, / at .+:\d+/);
    });

    const wrong: ReadonlyArray<readonly [what: string, args: readonly string[], code: number, RegExp]> = [
      ['an unknown run', ['task', 'get', '01980000-0000-7000-8000-000000000000'], 5, /not_found/],
      ['an invalid run id', ['task', 'get', '../keys'], 2, /not a valid execution id/],
      [
        'a foreign project',
        ['task', 'submit', '--title', 'x', '--project', '01980000-0000-7000-8000-000000000000'],
        5,
        /project_not_allowed/,
      ],
      ['a missing title', ['task', 'submit'], 2, /--title/],
      [
        'metadata that is not JSON',
        ['task', 'submit', '--title', 'x', '--metadata', '{'],
        2,
        /not valid JSON/,
      ],
      ['an unknown type', ['task', 'submit', '--title', 'x', '--type', 'y'], 2, /feature, bug/],
      ['an unknown command', ['task', 'frobnicate'], 2, /unknown command/],
      ['an unreachable server', ['task', 'list', '--url', 'http://127.0.0.1:1'], 6, /unreachable/],
      ['an invalid address', ['task', 'list', '--url', 'ftp://x'], 2, /not an http or https address/],
    ];
    for (const [what, args, code, message] of wrong) {
      it(`${what}, and exits with ${code}`, async () => {
        const done = await cli.run(args);
        assert.deepEqual([done.code, done.stdout], [code, '']);
        assert.match(done.stderr, message);
        assert.doesNotMatch(done.stderr, /\n +at /);
      });
    }

    it('a wrong key with exit code 5, and a missing one with 2', async () => {
      const refused = await cli.run(['whoami'], { env: { BATON_API_KEY: 'bt_wrong' } });
      assert.equal(refused.code, 5);
      assert.match(refused.stderr, /unauthenticated/);
      assert.doesNotMatch(refused.stderr, /bt_wrong/);
      const none = await cli.run(['whoami'], { env: { BATON_API_KEY: '' } });
      assert.deepEqual(
        [none.code, none.stderr],
        [2, 'baton: Not signed in. Set BATON_API_KEY or run `baton login`\n'],
      );
    });
  });
});
