import { modelSettings, startModelServer, turnOf, type Script } from '../support/model-server.ts';
import { eventually } from '../support/eventually.ts';
import { continues, submitLong } from '../support/long-runs.ts';
import { startRuns, type Runs } from '../support/runs.ts';
import { teamText } from '../agents/model-world.ts';

const me = { by: 'key:test' };

/** The dependencies of a scenario: runs whose agents have models, and the responses of these models. */
type Stage = {
  runs: Runs;
  answering(script: Script): void;
  /** Returns how many requests the scenario has made so far. */
  asked(): number;
};

/** One scenario per path of agents with models. Each returns the id of its run. */
const PLAYS: Record<string, (stage: Stage) => Promise<string>> = {
  async 'with-models'({ runs, answering }) {
    answering((asked) => (turnOf(asked) === 1 ? report('half way') : { text: 'Done.' }));
    return await ended(runs, await runs.submit({ taskType: 'feature' }));
  },
  async 'with-models-side-by-side'({ runs, answering }) {
    answering(() => ({ text: 'Done.', afterMs: 100 }));
    return await ended(runs, await runs.submit({ taskType: 'spec' }));
  },
  async 'with-models-failing'({ runs, answering }) {
    answering((asked) => (turnOf(asked) === 1 ? { text: '' } : { text: 'never' }));
    return await ended(runs, await runs.submit({ taskType: 'bug' }));
  },
  async 'with-models-refused'({ runs, answering }) {
    answering(() => ({ status: 401 }));
    return await ended(runs, await runs.submit({ taskType: 'bug' }));
  },
  async 'with-models-escalated'({ runs, answering }) {
    answering(() => ({ calls: [{ name: 'escalate_to_human', arguments: { reason: 'why?' } }] }));
    return await ended(runs, await runs.submit({ taskType: 'bug' }));
  },
  async 'with-models-asking'({ runs, answering }) {
    answering((asked) =>
      turnOf(asked) === 1
        ? {
            calls: [{ name: 'ask_for_approval', arguments: { question: 'May I?' } }, ...report('then').calls],
          }
        : { text: 'Done.' },
    );
    const id = await runs.submit({ taskType: 'bug' });
    await runs.reaches(id, 'paused');
    await runs.control.continue(id, { ...me, reason: 'you may' });
    return await ended(runs, id);
  },
  async 'with-models-paused'({ runs, answering, asked }) {
    answering((request) => (turnOf(request) < 4 ? { ...report('on'), afterMs: 200 } : { text: 'Done.' }));
    const id = await runs.submit({ taskType: 'bug' });
    await eventually('the agent is running', () => asked() === 2);
    await runs.control.pause(id, me);
    await runs.reaches(id, 'paused');
    await new Promise((resolve) => setTimeout(resolve, 500));
    await runs.control.continue(id, me);
    return await ended(runs, id);
  },
  async 'with-models-cancelled'({ runs, answering, asked }) {
    answering(() => ({ trouble: 'hang' }));
    const id = await runs.submit({ taskType: 'bug' });
    await eventually('the agent is running', () => asked() === 1);
    await runs.control.cancel(id, me);
    return await ended(runs, id);
  },
  async 'with-models-out-of-time'({ runs, answering }) {
    answering(() => ({ trouble: 'hang' }));
    return await ended(runs, await runs.submit({ taskType: 'bug' }));
  },
  async 'with-models-long'({ runs, answering }) {
    answering((asked) => (turnOf(asked) < 14 ? report(`call ${turnOf(asked)}`) : { text: 'Done.' }));
    return await ended(runs, await runs.submit({ taskType: 'bug' }));
  },
  async 'with-models-continued'({ runs, answering }) {
    const held = Promise.withResolvers<void>();
    answering(async () => {
      await held.promise;
      return { text: 'Done.' };
    });
    const id = await submitLong(runs, 50, { taskType: 'bug' });
    await runs.reaches(id, 'executing');
    for (let executions = 1; executions < 3; executions = (await continues(runs, id, 1)).length) {
      await runs.control.pause(id, me);
      await runs.reaches(id, 'paused');
      await runs.control.continue(id, me);
      await runs.reaches(id, 'executing');
    }
    held.resolve();
    return await ended(runs, id);
  },
};

/** The scenarios with a planner. */
const PLANNED_PLAYS: typeof PLAYS = {
  async planned({ runs, answering, asked }) {
    const draft = (agent: string) =>
      JSON.stringify({ steps: [{ name: 'only', agent, task: 'Do it.', after: [] }] });
    answering(() => ({ text: asked() === 1 ? draft('nobody') : asked() === 2 ? draft('ada') : 'Done.' }));
    return await ended(runs, await runs.submit({ taskType: 'bug' }));
  },
  async 'planned-badly'({ runs, answering }) {
    answering(() => ({ text: 'I would rather not.' }));
    return await ended(runs, await runs.submit({ taskType: 'bug' }));
  },
};

/** Plays the scenarios that are wanted. Calls `each` with every run that has ended. */
export async function playModels(
  isWanted: (name: string) => boolean,
  each: (name: string, id: string, runs: Runs) => Promise<void>,
): Promise<void> {
  const wanted = (plays: typeof PLAYS) =>
    Object.fromEntries(Object.entries(plays).filter(([name]) => isWanted(name)));
  await playAll(wanted(PLAYS), teamText(), each);
  await playAll(wanted(PLANNED_PLAYS), teamText({ more: 'planner: {}' }), each);
}

async function playAll(
  plays: typeof PLAYS,
  agents: string,
  each: (name: string, id: string, runs: Runs) => Promise<void>,
): Promise<void> {
  if (Object.keys(plays).length === 0) return;
  const server = await startModelServer(() => ({ text: 'Done.' }));
  const runs = await startRuns({
    agents,
    environment: {
      ...modelSettings(server),
      AGENT_HISTORY_EVENTS: '50',
    },
  });
  try {
    for (const [name, play] of Object.entries(plays)) {
      const before = server.asked.length;
      const asked = () => server.asked.length - before;
      const id = await play({ runs, asked, answering: (script) => server.answering(script) });
      await each(name, id, runs);
    }
  } finally {
    await runs.close();
    await server.close();
  }
}

async function ended(runs: Runs, id: string): Promise<string> {
  await runs.client.workflow
    .getHandle(id)
    .result()
    .catch(() => {});
  return id;
}

function report(text: string) {
  return { calls: [{ name: 'report_progress', arguments: { text } }] };
}
