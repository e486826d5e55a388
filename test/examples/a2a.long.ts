import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';
import { BINDINGS } from '../support/a2a-client.ts';
import { pythonWithA2a } from '../support/python.ts';
import { useOwnWorld } from '../support/world.ts';

const run = promisify(execFile);

describe("the A2A protocol's Python client", function () {
  this.timeout(120_000);
  // The card contains the address that the service listens on.
  const world = useOwnWorld();
  let python: string;
  before(async function () {
    this.timeout(300_000); // a first installation
    python = await pythonWithA2a();
  });
  const environment = () => {
    const { PATH = '', HOME = '' } = process.env;
    return { PATH, HOME, BATON_URL: world.api.url, BATON_API_KEY: world.installation.api_key };
  };

  for (const binding of BINDINGS) {
    it(`uses every method over ${binding}`, async () => {
      const before = (await world.send('GET', '/api/v1/tasks')).json.data.length;
      const script = inCheckout('test', 'support', 'a2a_client.py');
      const { stdout } = await run(python, [script, world.api.url, binding], { env: environment() });
      const { streamed, positions, history, ...rest } = JSON.parse(stdout);
      assert.deepEqual(rest, {
        skills: ['feature', 'bug', 'spec', 'chore'],
        question: 'Why?',
        followed: ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'],
        artifacts: ['/output'],
        pushes: ['mine', 'https://127.0.0.1:9/', '', ['mine'], []],
        cancelled: 'TASK_STATE_CANCELED',
        listed: true,
        total: before + 3,
        unknown: 'TaskNotFoundError',
        ended: 'TaskNotCancelableError',
        file: 'ContentTypeNotSupportedError',
      });
      // The stream begins with the task as it is then: a worker may already have begun.
      const states = ['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'];
      assert.deepEqual(streamed, states.slice(-streamed.length));
      assert.ok(streamed.length >= 2, String(streamed));
      assert.deepEqual(
        positions,
        positions.toSorted((one: number, other: number) => one - other),
      );
      assert.deepEqual(
        history.filter((said: string) => ['Asks', 'Why?', 'Because'].includes(said)),
        ['Asks', 'Why?', 'Because'],
      );
    });

    it(`gives tasks to the service as the example shows, over ${binding}`, async () => {
      const artifact = { step: 1, name: 'notes.md', media_type: 'text/markdown', text: '# Notes' };
      const rehearsal = { steps: 2, artifact, ask: { step: 2, question: 'Which colour?' } };
      const child = spawn(python, [inCheckout('examples', 'a2a', 'baton_tools.py'), 'Paint the shed'], {
        env: {
          ...environment(),
          BATON_BINDINGS: binding,
          BATON_METADATA: JSON.stringify({ rehearsal }),
        },
      });
      child.stdin.end('Blue\n');
      const [stdout, stderr, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      assert.equal(code, 0, stderr);
      const [question, result = ''] = stdout.split('\n');
      assert.equal(question, 'Which colour?');
      const { state, artifacts, task_id: id } = JSON.parse(result);
      assert.equal(state, 'TASK_STATE_COMPLETED');
      assert.equal(artifacts['notes.md'], '# Notes');
      assert.deepEqual(Object.keys(artifacts), ['notes.md', '/output']);
      const { json } = await world.send('GET', `/api/v1/tasks/${id}`);
      assert.equal(json.title, 'Paint the shed');
    });
  }

  it('is required in the tested versions', () => {
    const lines = (...path: string[]) =>
      readFileSync(inCheckout(...path), 'utf8')
        .trim()
        .split('\n');
    const tested = lines('test', 'support', 'a2a-requirements.txt');
    for (const requirement of lines('examples', 'a2a', 'requirements.txt'))
      assert.ok(tested.includes(requirement), requirement);
  });
});
