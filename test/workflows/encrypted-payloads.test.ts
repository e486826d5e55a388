import assert from 'node:assert/strict';
import { Client } from '@temporalio/client';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { modelSettings, startModelServer, turnOf, type ModelServer } from '../support/model-server.ts';
import { startRuns, useOwnRuns, type Runs } from '../support/runs.ts';
import { teamText } from '../agents/model-world.ts';

const keyOf = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
const person = { by: 'user:ada@example.com' };

/** Returns all readable text of a history. */
async function readable(runs: Runs, workflowId: string): Promise<string> {
  // A client without keys, as an operator's.
  const client = new Client({ connection: runs.connection });
  const history = await client.workflow.getHandle(workflowId).fetchHistory();
  return textOf(history);
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (typeof value === 'string') return value;
  if (value === null || typeof value !== 'object') return '';
  return Object.values(value).map(textOf).join('\n');
}

/** @throws with the surrounding text if a word is in the text */
function assertAbsent(text: string, word: RegExp): void {
  const at = text.search(word);
  assert.equal(at === -1 ? '' : text.slice(Math.max(0, at - 100), at + 60), '', String(word));
}

describe('an encrypted payload', function () {
  describe('of a rehearsed run', () => {
    const runs = useOwnRuns({ environment: { BATON_PAYLOAD_KEYS: keyOf('k1', 1) } });

    it('hides the content of the work in the history', async () => {
      const ask = { step: 2, question: 'May I open the vault?' };
      const id = await runs.submit({ rehearsal: { ask, fail: { step: 1, times: 1 } } });
      await runs.reaches(id, 'paused');
      const view = await runs.view(id);
      assert.equal(view.question?.text, 'May I open the vault?', 'the query returns the question');
      await runs.control.continue(id, { ...person, reason: 'with the blue key' });
      await runs.reaches(id, 'completed');
      await runs.ends(id);
      const text = await readable(runs, id);
      assert.match(text, /binary\/encrypted/);
      for (const word of [/vault/, /blue key/, /architect/, /simulated/i, /ada@example\.com/]) {
        assertAbsent(text, word);
      }
    });

    it('hides error messages, and a client with the keys reads them', async () => {
      const id = await runs.submit({ rehearsal: { unrecoverable: { step: 1 } } });
      await runs.reaches(id, 'failed');
      await assert.rejects(runs.client.workflow.getHandle(id).result(), (error: Error) => {
        assert.match((error.cause as Error).message, /scripted to be unrecoverable/);
        return true;
      });
      assert.doesNotMatch(await readable(runs, id), /unrecoverable/);
    });

    it('is decrypted by a worker whose newest key differs', async () => {
      const id = await runs.submit({ rehearsal: { steps: 2, ask: { step: 2, question: 'On?' } } });
      await runs.reaches(id, 'paused');
      runs.configuration.payloadKeys = parseKeyRing(`${keyOf('k2', 2)},${keyOf('k1', 1)}`);
      await runs.restartWorker();
      await runs.control.continue(id, person);
      await runs.reaches(id, 'completed');
    });
  });

  it('does not stop a run that started without encryption', async () => {
    const runs = await startRuns();
    try {
      const id = await runs.submit({ rehearsal: { steps: 2, ask: { step: 2, question: 'On?' } } });
      await runs.reaches(id, 'paused');
      runs.configuration.payloadKeys = parseKeyRing(keyOf('k1', 1));
      await runs.restartWorker();
      await runs.control.continue(id, person);
      await runs.reaches(id, 'completed');
      const text = await readable(runs, id);
      assert.match(text, /"executionId"/);
      assert.match(text, /binary\/encrypted/);
    } finally {
      await runs.close();
    }
  });

  describe('of an agent with a model', () => {
    let runs: Runs;
    let server: ModelServer;
    before(async () => {
      server = await startModelServer((asked) =>
        turnOf(asked) === 1
          ? {
              text: 'Let me look into the vault.',
              calls: [
                {
                  name: 'save_artifact',
                  arguments: { name: 'vault.md', media_type: 'text/markdown', content: 'gold in the vault' },
                },
              ],
            }
          : { text: 'The vault is empty.' },
      );
      runs = await startRuns({
        agents: teamText(),
        environment: {
          BATON_PAYLOAD_KEYS: keyOf('k1', 1),
          ...modelSettings(server),
        },
      });
    });
    after(async () => {
      await runs.close();
      await server.close();
    });

    it('hides prompts, responses and artifacts in all histories', async () => {
      const id = await runs.submit({ taskType: 'bug' });
      const { steps, output } = await runs.reaches(id, 'completed');
      assert.match(JSON.stringify(output), /The vault is empty/);
      await runs.ends(id);
      for (const workflowId of [id, `${id}:${steps[0]?.id}:1`]) {
        const text = await readable(runs, workflowId);
        assert.match(text, /binary\/encrypted/);
        for (const word of [/vault/, /You are Ada/, /A test/]) {
          assertAbsent(text, word);
        }
      }
    });
  });
});
