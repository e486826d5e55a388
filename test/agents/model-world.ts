import { callsOf } from './recorded-calls.ts';
import {
  saidIn,
  modelSettings,
  startModelServer,
  type AskedModel,
  type ModelServer,
  type Script,
} from '../support/model-server.ts';
import { useFixture } from '../support/fixture.ts';
import { submitLong } from '../support/long-runs.ts';
import { startRuns, type Runs, type Submission } from '../support/runs.ts';
import { sharedInLane } from '../support/shared.ts';

/** A task of a model world; `historyEvents`: the run continues as a new execution from a history of that length. */
type ModelSubmission = Submission & { historyEvents?: number };

/** Runs whose agents have models, on a model server of the tests. */
export type ModelWorld = {
  server: ModelServer;
  runs: Runs;
  /** Submits a task whose models respond by this script. Each unfinished task has its own script. */
  play(script: Script, submission?: ModelSubmission): Promise<string>;
  /** Submits a task whose models respond by `script`, but not before `open` is called. */
  hold(script?: Script, submission?: ModelSubmission): Promise<{ id: string; open: () => void }>;
  /** Returns the requests of a run, by default of the last one. */
  asked(id?: string): AskedModel[];
  calls(id: string): ReturnType<typeof callsOf>;
  /** Runs another task to its end. What the worker had to do before has happened by then. */
  runAnother(): Promise<void>;
  close(): Promise<void>;
};

type ModelOptions = { agents?: string; environment?: Record<string, string> };

const PRICES = 'prices: { openai-compatible/test: { input: 2, output: 8 } }';

/**
 * Teams: feature has two consecutive steps, bug one, spec three parallel ones, chore one by an agent with the limits
 * `chore`. `more`: further members of the catalogue; `limits`: those of ada.
 */
export function teamText({ limits = '{}', chore = '{}', more = '' } = {}): string {
  return `
agents:
  ada: { instructions: You are Ada., limits: ${limits} }
  bob: { instructions: You are Bob. }
  eve: { instructions: You are Eve., limits: ${chore} }
defaults:
  run_time_limit: 2 min
  step_time_limit: 40 s
  retry: { maximum_attempts: 2, initial_interval: 10 ms, backoff_coefficient: 1, maximum_interval: 10 ms }
teams:
  feature: [{ step: design, agent: ada }, { step: build, agent: bob }]
  bug: [{ step: one, agent: ada }]
  spec: [{ step: left, agent: ada, after: [] }, { step: middle, agent: ada, after: [] }, { step: right, agent: ada, after: [] }]
  chore: [{ step: little, agent: eve }]
${more}`;
}

/** The models shared by the tests of a lane, with the catalogue of `teamText` and prices. */
const sharedModels = sharedInLane(
  () => startModels({}),
  (world) => world.close(),
);

/**
 * Registers hooks that give the tests of a `describe` runs with models: those of the lane, or with options separate
 * ones.
 */
export function useModels(options?: ModelOptions): ModelWorld {
  return useFixture(async () =>
    options ? await startModels(options) : { ...(await sharedModels()), close: async () => {} },
  );
}

function submitTo(runs: Runs, { historyEvents, ...submission }: ModelSubmission) {
  return historyEvents ? submitLong(runs, historyEvents, submission) : runs.submit(submission);
}

async function startModels({ agents, environment }: ModelOptions): Promise<ModelWorld> {
  const scripts = new Map<string, Script>();
  const ids = new Map<string, string>();
  const marks = new WeakMap<AskedModel, string>();
  let last = '';
  const server = await startModelServer((asked) => {
    const mark = / #\d+#/.exec(saidIn(asked))?.[0] ?? last;
    marks.set(asked, mark);
    return scripts.get(mark)?.(asked) ?? { text: 'Done.' };
  });
  const runs = await startRuns({
    agents: agents ?? teamText({ more: PRICES }),
    environment: {
      ...modelSettings(server),
      OPENAI_BASE_URL: server.url,
      ANTHROPIC_BASE_URL: server.url,
      ...environment,
    },
  });
  const world: ModelWorld = {
    server,
    runs,
    async play(script, submission = {}) {
      // The title is part of every prompt, so its mark identifies the run of a request.
      const mark = ` #${scripts.size + 1}#`;
      last = mark;
      scripts.set(mark, script);
      const { title = 'A test', ...rest } = submission;
      const id = await submitTo(runs, { taskType: 'bug', ...rest, title: `${title}${mark}` });
      ids.set(id, mark);
      return id;
    },
    async hold(script = () => ({ text: 'Done.' }), submission) {
      const opened = Promise.withResolvers<void>();
      const held: Script = async (asked) => {
        await opened.promise;
        return await script(asked);
      };
      return { id: await world.play(held, submission), open: opened.resolve };
    },
    asked(id) {
      const mark = id === undefined ? last : ids.get(id);
      return server.asked.filter((asked) => marks.get(asked) === mark);
    },
    calls: (id) => callsOf(runs.database, id),
    async runAnother() {
      await runs.reaches(await world.play(() => ({ text: 'Done.' })), 'completed');
    },
    async close() {
      await runs.close();
      await server.close();
    },
  };
  return world;
}
