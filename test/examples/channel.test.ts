import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { inCheckout } from '../../dev/common/paths.ts';
import { useWorld } from '../support/world.ts';
import { withPage } from '../support/browser.ts';
import { pythonWithClients } from '../support/python.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { services } from '../support/services.ts';
import { type Line, lineTo } from './line.ts';
import { endPrograms, startProgram } from './program.ts';

const folder = inCheckout('examples', 'channel');
/** The run waits for a reply before its third step. */
const REHEARSAL = { steps: 4, step_ms: 50, progress_events: 3, ask: { step: 3, question: 'Now?' } };

describe('an example of the live channel', function () {
  this.timeout(120_000);
  const world = useWorld();
  let line: Line;

  beforeEach(async () => {
    line = await lineTo(world.api.url);
  });
  afterEach(async () => {
    endPrograms();
    await line.close();
  });

  const submitted = async (rehearsal: object = REHEARSAL, more: object = {}): Promise<string> =>
    (await world.submit({ metadata: { rehearsal }, ...more })).json.execution_id;
  const continueRun = (id: string) => world.send('POST', `/api/v1/tasks/${id}/continue`);
  /** Returns the numbers and types of all events of a run. */
  const recorded = async (id: string): Promise<string[]> => {
    const { json } = await world.send('GET', `/api/v1/tasks/${id}/events`);
    return json.data.map(({ seq, type }: { seq: number; type: string }) => `${seq} ${type}`);
  };
  const scripts: readonly (readonly [string, () => Promise<readonly [string, ...string[]]>])[] = [
    ['Node', () => Promise.resolve([process.execPath, `${folder}/node/watch.mjs`])],
    ['Python', async () => [await pythonWithClients(), `${folder}/python/watch.py`]],
  ];
  for (const [language, command] of scripts) {
    describe(`in ${language}`, () => {
      let args: readonly [string, ...string[]];
      before(async function () {
        this.timeout(300_000); // a first installation
        args = await command();
      });
      const watch = (id: string, key = world.installation.api_key) =>
        run(args, id, { BATON_URL: line.url, BATON_API_KEY: key });

      it('shows every event once across lost connections, and exits', async () => {
        const id = await submitted();
        const watching = watch(id);
        await watching.prints(/step\.started .+"step-1"/);
        await line.cut();
        await watching.prints(/state\.changed .+"to":\s*"paused"/);
        await line.cut();
        await continueRun(id);
        const { code, events, stderr } = await watching.ended;
        assert.equal(code, 0, stderr);
        assert.deepEqual(events, await recorded(id));
        assert.equal(events.at(-1)?.split(' ')[1], 'run.ended');
      });

      it('waits for the callback if the run has one', async () => {
        const receiver: Receiver = await startReceiver({ tls: services().tls });
        receiver.answering(204);
        try {
          const id = await submitted({ steps: 1 }, { callback_url: receiver.url });
          const { code, events, stderr } = await watch(id).ended;
          assert.equal(code, 0, stderr);
          assert.deepEqual(events, await recorded(id));
          assert.equal(events.at(-1)?.split(' ')[1], 'callback.attempted');
        } finally {
          await receiver.close();
        }
      });

      it('exits at once if the run or the key is rejected', async () => {
        const { code, stderr } = await watch('0193f0a0-0000-7000-8000-000000000001').ended;
        assert.equal(code, 1);
        assert.match(stderr, /forbidden|not found|no such|does not exist/i);
        assert.equal((await watch(await submitted({ steps: 1 }), 'bt_wrong').ended).code, 1);
      });
    });
  }

  it('in Python requires the tested versions', () => {
    const lines = (...path: string[]) =>
      readFileSync(inCheckout(...path), 'utf8')
        .trim()
        .split('\n');
    const tested = lines('test', 'support', 'python-requirements.txt');
    for (const requirement of lines('examples', 'channel', 'python', 'requirements.txt'))
      assert.ok(tested.includes(requirement), requirement);
  });

  it('in Node requires the tested version', () => {
    const versionIn = (text: string): string => JSON.parse(text).dependencies['socket.io-client'];
    const ours = JSON.parse(readFileSync(inCheckout('package.json'), 'utf8')).devDependencies;
    assert.equal(versionIn(readFileSync(`${folder}/node/package.json`, 'utf8')), ours['socket.io-client']);
  });

  describe('in a browser', () => {
    const open = async (page: Page, id: string, token?: string) => {
      await page.goto(pathToFileURL(`${folder}/browser/index.html`).href);
      await page.getByLabel('Server').fill(line.url);
      await page.getByLabel('Execution id').fill(id);
      await enter(page, token ?? (await newToken()));
    };
    const newToken = async (): Promise<string> => (await world.send('POST', '/api/v1/tokens')).json.token;
    const enter = async (page: Page, token: string) => {
      await page.getByLabel('Token').fill(token);
      await page.getByRole('button', { name: 'Watch' }).click();
    };
    const shown = async (page: Page): Promise<string[]> =>
      await page
        .locator('#events li')
        .evaluateAll((items) => items.map((item) => `${item.value} ${item.textContent.split(/ +/)[1]}`));

    it('shows every event once across lost connections, and the end of the run', async () => {
      await withPage(async (page, errors) => {
        const id = await submitted();
        await open(page, id);
        await page.getByText('step.started  step-1').waitFor();
        await line.cut();
        await page.getByText('state.changed  paused').waitFor();
        await line.cut();
        await continueRun(id);
        await page.getByText('The run has ended: completed').waitFor();
        assert.deepEqual(await shown(page), await recorded(id));
        assert.equal(await page.locator('#state').textContent(), 'completed');
        const steps = await page.locator('#steps tr').allTextContents();
        assert.equal(steps.length, 4);
        for (const text of steps) assert.match(text, /completed.*Simulation of/);
        assert.deepEqual(errors, []);
      });
    });

    it('reports that a token has no access to a room', async () => {
      await withPage(async (page) => {
        await open(page, '0193f0a0-0000-7000-8000-000000000001');
        await page.getByText('ended: forbidden').waitFor();
      });
    });

    it('continues after the last event with another token', async () => {
      await withPage(async (page) => {
        const id = await submitted();
        await open(page, id);
        await page.getByText('state.changed  paused').waitFor();
        await enter(page, await newToken());
        await continueRun(id);
        await page.getByText('The run has ended: completed').waitFor();
        assert.deepEqual(await shown(page), await recorded(id));
      });
    });

    it('shows the words of agents as plain text', async () => {
      await withPage(async (page) => {
        const reason = '<img src=x onerror="document.title = 1">';
        await open(page, await submitted({ escalate: { step: 1, reason } }));
        await page.getByText(`escalated: ${reason}`).waitFor();
        assert.equal(await page.title(), 'Watch a run');
      });
    });
  });
});

/** Starts a script. `events` are the first and third words of each line of its output. */
function run([command, ...args]: readonly [string, ...string[]], id: string, environment: object) {
  const { prints, ended } = startProgram([command, ...args, id], environment);
  const eventsOf = (printed: string) =>
    printed
      .split('\n')
      .slice(0, -1)
      .map((text) => `${text.split(' ')[0]} ${text.split(' ')[2]}`);
  return { prints, ended: ended.then(({ printed, ...rest }) => ({ ...rest, events: eventsOf(printed) })) };
}
