import assert from 'node:assert/strict';
import { inCheckout } from '../../dev/common/paths.ts';
import {
  modelSettings,
  saidIn,
  startModelServer,
  turnOf,
  type AskedModel,
  type ModelServer,
  type Reply,
} from '../support/model-server.ts';
import { useOwnWorld } from '../support/world.ts';
import { endPrograms, startProgram } from './program.ts';

const PARTS = ['prices', 'weights', 'repairs'];
const REPORT = '# Which bicycle\n\nThe blue one.';

/** Plays the planner, the researchers and the editor. The researchers work until all of them have begun. */
function modelOf(question: string): (asked: AskedModel) => Promise<Reply> {
  const all = Promise.withResolvers<void>();
  let begun = 0;
  return async (asked) => {
    const said = saidIn(asked);
    assert.ok(said.includes(question));
    if (said.includes('You plan the work of a team')) return { text: JSON.stringify(planOf(PARTS)) };
    if (said.includes('Your step now: "report"')) return editor(asked);
    begun += 1;
    if (begun === PARTS.length) all.resolve();
    await all.promise;
    return { text: 'Found.' };
  };
}

function editor(asked: AskedModel): Reply {
  const document = { name: 'report.md', media_type: 'text/markdown', content: REPORT };
  return turnOf(asked) === 1
    ? { calls: [{ name: 'save_artifact', arguments: document }] }
    : { text: 'I saved the report.' };
}

function planOf(parts: string[]) {
  const research = parts.map((name) => ({ name, agent: 'researcher', task: `Compare ${name}.`, after: [] }));
  return { steps: [...research, { name: 'report', agent: 'editor', task: 'Combine all.', after: parts }] };
}

describe('the example of a planner', function () {
  let model: ModelServer;
  const world = useOwnWorld(async () => {
    model = await startModelServer(() => ({ text: 'Done.' }));
    return {
      environment: { AGENTS_FILE: inCheckout('examples', 'fan-out', 'agents.yml'), ...modelSettings(model) },
    };
  });
  afterEach(endPrograms);
  after(() => model.close());

  const start = (...words: string[]) =>
    startProgram([process.execPath, inCheckout('examples', 'fan-out', 'report.ts'), ...words], {
      BATON_URL: world.api.url,
      BATON_API_KEY: world.installation.api_key,
      BATON_PROJECT: world.installation.project_id,
    });

  it('prints the report that agents wrote together', async () => {
    model.answering(modelOf('Which bicycle for a courier?'));
    const { code, printed, stderr } = await start('Which bicycle for a courier?').ended;
    assert.equal(code, 0, stderr);
    const done = PARTS.map((part) => printed.indexOf(`${part}: done`));
    for (const part of PARTS) assert.ok(printed.includes(`${part}: researcher has begun`), printed);
    assert.ok(printed.indexOf('report: editor has begun') > Math.max(...done), printed);
    assert.ok(printed.endsWith(`The task is completed.\n\n${REPORT}\n`), printed);
  });

  it('prints why the task failed, and exits with 1', async () => {
    model.answering(() => ({ status: 401, message: 'no' }));
    const { code, stderr } = await start('Why?').ended;
    assert.equal(code, 1);
    assert.match(stderr, /OPENAI_COMPATIBLE_API_KEY was refused/);
  });

  it('explains its usage without a question', async () => {
    const { code, stderr } = await start().ended;
    assert.equal(code, 2);
    assert.match(stderr, /Usage/);
  });
});
