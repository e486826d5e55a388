import assert from 'node:assert/strict';
import { eventually } from '../support/eventually.ts';
import { useWorld } from '../support/world.ts';
import { type Cli, cliWith } from './cli-process.ts';
import { webhooksOf } from './listening.ts';

describe('a command whose reader is gone', () => {
  const world = useWorld();
  let cli: Cli;

  beforeEach(() => {
    cli = cliWith({ BATON_URL: world.api.url, BATON_API_KEY: world.installation.api_key });
  });
  afterEach(() => cli.cleanUp());

  const codeWithout = async (stream: 'stdout' | 'stderr', args: readonly string[], input = '') => {
    const running = cli.spawn(args, { input });
    running.child[stream]?.destroy();
    return (await running.ended).code;
  };

  it('finishes its changes, and exits with its own code', async () => {
    const hook = (name: string, url: string) => ({ name, url, events: [{ event: 'issue.created' }] });
    const file = (last: string) =>
      JSON.stringify({
        webhooks: [hook('A', 'https://example.com/'), hook('B', 'https://example.com/'), hook('C', last)],
      });
    const apply = ['apply', '-f', '-', '--yes'];
    assert.equal(await codeWithout('stdout', apply, file('https://10.0.0.1/')), 5);
    assert.equal(await codeWithout('stdout', apply, file('https://example.com/')), 0);
    const made = await webhooksOf(world);
    assert.equal(made.length, 3);
    for (const { id } of made) await cli.json(['webhook', 'delete', id]);
    assert.equal(await codeWithout('stdout', ['task', 'list']), 0);
  });

  it('exits with its own code without a reader of stderr', async () => {
    assert.equal(await codeWithout('stderr', ['task', 'get', '01980000-0000-7000-8000-000000000000']), 5);
  });

  it('stops with 141 if it follows a run', async () => {
    const metadata = JSON.stringify({ rehearsal: { steps: 3, step_ms: 30_000 } });
    const submit = ['task', 'submit', '--title', 'A task', '--metadata', metadata];
    const { execution_id: id } = await cli.json(submit);
    assert.equal(await codeWithout('stdout', ['task', 'watch', id]), 141);
    assert.equal(await codeWithout('stdout', [...submit, '--watch']), 141);
    const { data } = await cli.json(['task', 'list']);
    for (const run of data) await cli.run(['task', 'cancel', run.execution_id]);
    for (const run of data) await world.reaches(run.execution_id, 'cancelled');
  });

  it('deletes its webhook and stops with 141 if it listens', async () => {
    assert.equal(await codeWithout('stdout', ['listen', '--forward', '9']), 141);
    await eventually('the webhook is deleted', async () => (await webhooksOf(world)).length === 0);
  });
});
