import { callsOf } from './recorded-calls.ts';
import { startModelServer, type AskedModel, type ModelServer, type Script } from '../support/model-server.ts';
import { startRuns, type Runs, type Submission } from '../support/runs.ts';

/** Runs whose agents have models, at a server of the test's own. */
export type ModelWorld = {
  server: ModelServer;
  runs: Runs;
  /** Submits a task whose models answer as the script says. */
  play(script: Script, submission?: Submission): Promise<string>;
  /** Requests of the play that is on. */
  asked(): AskedModel[];
  calls(id: string): ReturnType<typeof callsOf>;
};

/**
 * Teams: feature two steps after one another, bug one, spec three side by side, chore one by an agent with small
 * limits. `more`: further members of the catalogue; `limits` of ada.
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

/** Registers the hooks of a `describe`; what it answers is there from the first test on. */
export function useModels(
  options: { agents?: string; environment?: Record<string, string> } = {},
): ModelWorld {
  let from = 0;
  const world: ModelWorld = {
    server: undefined as never,
    runs: undefined as never,
    async play(script, submission = { taskType: 'bug' }) {
      world.server.answering(script);
      from = world.server.asked.length;
      return await world.runs.submit(submission);
    },
    asked: () => world.server.asked.slice(from),
    calls: (id) => callsOf(world.runs.database, id),
  };
  before(async () => {
    world.server = await startModelServer(() => ({ text: 'Done.' }));
    world.runs = await startRuns({
      agents: options.agents ?? teamText(),
      environment: {
        DEFAULT_MODEL: 'openai-compatible/test',
        OPENAI_COMPATIBLE_BASE_URL: world.server.url,
        OPENAI_COMPATIBLE_API_KEY: 'sk-test-secret-key',
        OPENAI_BASE_URL: world.server.url,
        ANTHROPIC_BASE_URL: world.server.url,
        ...options.environment,
      },
    });
  });
  after(async () => {
    await world.runs?.close();
    await world.server?.close();
  });
  return world;
}
