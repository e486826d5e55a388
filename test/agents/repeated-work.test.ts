import assert from 'node:assert/strict';
import { once } from 'node:events';
import { TaskState } from '@a2a-js/sdk';
import { ActivityCancellationDetails } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createAgentFeed } from '../../src/activities/agents/agent-feed.ts';
import {
  createRemoteAgentActivities,
  type RemoteAgentInput,
  type RemoteOutcome,
} from '../../src/activities/agents/remote-agents.ts';
import { createStepActivities } from '../../src/activities/agents/steps.ts';
import { NO_ISOLATION } from '../../src/agents/isolation.ts';
import { parseCatalogue } from '../../src/agents/catalogue.ts';
import { readRunUsage } from '../../src/database/agents/agent-calls.ts';
import { listStepResults } from '../../src/database/tasks/step-results.ts';
import {
  MAX_AGENT_MESSAGES,
  OUTPUT_RESULT_BYTES,
  STEP_RESULT_BYTES,
  SUMMARY_LENGTH,
} from '../../src/domain/common/limits.ts';
import { UNTRACED_AGENTS } from '../../src/domain/agents/agent-traces.ts';
import type { AgentWork } from '../../src/domain/tasks/step-work.ts';
import { feedOf, quietRun } from '../gateway/quiet-runs.ts';
import { startA2aAgent } from '../support/a2a-agent.ts';
import { useFixture } from '../support/fixture.ts';
import { useInstallation } from '../support/installation.ts';
import { workOn } from './work-on-step.ts';

const MINUTE_MS = 60_000;
/** Prints a result after a moment: what the request says about an earlier try. */
const PROGRAM = `process.stdin.once('data', (line) => setTimeout(() =>
  console.log(JSON.stringify({ type: 'result', text: 'repeated: ' + JSON.parse(line).repeated })), 300))`;

/** Longer than each of the texts that are cut has room for. */
const TOKEN = `tok-${'0123456789'.repeat(4)}`;
/** Writes its token where a text is cut: to standard error, and as a line that is not part of the protocol. */
const TELLS = `
  console.error('x'.repeat(1_990) + process.env.SERVICE_TOKEN);
  setTimeout(() => console.log('x'.repeat(95) + process.env.SERVICE_TOKEN), 300);`;

/** If a worker dies, Temporal gives the same activity to another one. */
describe('the work of an agent outside the service', () => {
  const fresh = useInstallation();
  const scout = useFixture(() => startA2aAgent({ streaming: true }));
  let work: AgentWork;
  const diagnostics: string[] = [];
  beforeEach(async () => {
    const executionId = await quietRun(fresh.database, fresh.installation);
    work = workOn(executionId, 'program');
  });

  const clock = () => new Date();
  const catalogueText = (onLimit = 'fail') => {
    const teams = ['feature', 'bug', 'spec', 'chore'].map((type) => `${type}: [{ step: a, agent: program }]`);
    return `
agents:
  program: { instructions: Look., command: [${process.execPath}, -e, ${JSON.stringify(PROGRAM)}], limits: { on_limit: ${onLimit} } }
  scout: { instructions: Look., a2a: '${scout.url}', limits: { on_limit: ${onLimit} } }
  teller: { instructions: Look., command: { run: [${process.execPath}, -e, ${JSON.stringify(TELLS)}], env: [SERVICE_TOKEN] } }
  lost: { instructions: Look., a2a: { url: 'http://lost.example', headers_env: { Authorization: SERVICE_TOKEN } } }
teams: { ${teams.join(', ')} }`;
  };
  const activities = (onLimit?: string) =>
    createRemoteAgentActivities({
      database: fresh.database,
      catalogue: parseCatalogue(catalogueText(onLimit), 'a test'),
      environment: { PATH: process.env['PATH'], SERVICE_TOKEN: TOKEN },
      isolation: NO_ISOLATION,
      fetch: async (input, init) => {
        if (!new Request(input).url.startsWith('http://lost.example')) return await fetch(input, init);
        throw new Error(`${'x'.repeat(960)} ${TOKEN}`);
      },
      clock,
      traces: UNTRACED_AGENTS,
      onDiagnostic: (_agent, line) => diagnostics.push(line),
      leaveResult: async (_work, given) => ({ summary: given, text: given }),
    });
  type Info = ConstructorParameters<typeof MockActivityEnvironment>[0];
  const start = (agent: 'program' | 'scout' | 'teller' | 'lost', info: Info = {}, onLimit?: string) => {
    const environment = new MockActivityEnvironment({ scheduledTimestampMs: Date.now(), ...info });
    const input: RemoteAgentInput = {
      work: { ...work, step: { ...work.step, agent } },
      turn: 1,
      timeLimitMs: MINUTE_MS,
    };
    const { askRemoteAgent, runCommand } = activities(onLimit);
    const ended = environment.run<[RemoteAgentInput], RemoteOutcome, typeof runCommand>(
      agent === 'scout' || agent === 'lost' ? askRemoteAgent : runCommand,
      input,
    );
    return { environment, ended };
  };

  it('tells a program whether the work was started before', async () => {
    for (const attempt of [1, 2]) {
      const outcome = await start('program', { attempt }).ended;
      assert.equal(outcome.kind === 'completed' && outcome.result.text, `repeated: ${attempt > 1}`);
    }
  });

  it('has its secrets removed from errors and the log before they are cut', async () => {
    for (const agent of ['teller', 'lost'] as const) {
      const outcome = await start(agent).ended;
      assert.ok(outcome.kind === 'failed');
      assert.match(outcome.message, /x{95}/);
      assert.ok(!outcome.message.includes('tok-'), outcome.message);
    }
    assert.deepEqual(diagnostics, ['x'.repeat(1_990)]);
  });

  it('does not begin if the run has ended', async () => {
    await fresh.database.em
      .fork()
      .execute(
        `update task_runs set state = 'cancelled', started_at = now(), completed_at = now() where id = ?`,
        [work.executionId],
      );
    await assert.rejects(start('program').ended, /the run has ended/);
    scout.messages.length = 0;
    await assert.rejects(start('scout').ended, /the run has ended/);
    assert.deepEqual(scout.messages, []);
  });

  it('leaves a result of limited size for later steps and for the output of the run', async () => {
    const { database } = fresh;
    const catalogue = parseCatalogue(catalogueText(), 'a test');
    const { leaveResult } = createStepActivities({ database, catalogue, historyEvents: 0, clock });
    const text = `${'word '.repeat(200)}\n\n${'x'.repeat(2 * STEP_RESULT_BYTES)}`;
    const shown = await leaveResult(work, text);
    assert.ok(shown.summary.length <= SUMMARY_LENGTH && shown.summary.endsWith('…'));
    assert.ok(Buffer.byteLength(shown.text) <= OUTPUT_RESULT_BYTES);
    const [left] = await listStepResults(database, work.executionId, ['look']);
    assert.ok(left && Buffer.byteLength(left.text) <= STEP_RESULT_BYTES);
  });

  it('has one time limit for all tries', async () => {
    const begun = Date.now() - MINUTE_MS;
    const outcome = await start('program', { attempt: 2, scheduledTimestampMs: begun }).ended;
    assert.deepEqual(outcome, { kind: 'failed', timedOut: true, message: 'took longer than 60000 ms' });
  });

  for (const agent of ['program', 'scout'] as const) {
    it(`escalates the run at the time limit if on_limit is escalate: ${agent}`, async () => {
      scout.doing(async ({ signal }) => void (signal.aborted || (await once(signal, 'abort'))));
      const begun = Date.now() - MINUTE_MS;
      const outcome = await start(agent, { scheduledTimestampMs: begun }, 'escalate').ended;
      const reason = `${agent} took longer than 60000 ms for look`;
      assert.deepEqual(outcome, { kind: 'escalated', reason });
    });
  }

  for (const [what, details, cancelled] of [
    ['is cancelled with the run', { cancelRequested: true }, 1],
    ['is left to the next worker if this one stops', { workerShutdown: true }, 0],
    ['is left to the next worker if this one was silent for too long', { timedOut: true }, 0],
    ['is left to the next try if its activity is paused in Temporal', { paused: true }, 0],
    ['is left to the next try if its activity is reset in Temporal', { reset: true }, 0],
    ['is cancelled with the run although its activity is paused', { cancelRequested: true, paused: true }, 1],
  ] as const) {
    it(`of an A2A agent ${what}`, async () => {
      scout.cancelled.length = 0;
      scout.doing(async ({ signal }, say) => {
        say.working('Looking');
        if (!signal.aborted) await once(signal, 'abort');
      });
      const { environment, ended } = start('scout');
      const knowsTask = Promise.withResolvers<void>();
      environment.on('heartbeat', (task: unknown) => task && knowsTask.resolve());
      await knowsTask.promise;
      environment.cancel('CANCELLED', new ActivityCancellationDetails(details));
      await assert.rejects(ended);
      assert.equal(scout.cancelled.length, cancelled);
    });
  }

  it('of an A2A agent that asks a question uses no tokens yet, since the task reports them at its end', async () => {
    const usage = { input_tokens: 40, output_tokens: 2 };
    scout.doing((_asked, say) => say.ends(TaskState.TASK_STATE_INPUT_REQUIRED, 'Left or right?', { usage }));
    const outcome = await start('scout').ended;
    assert.ok(outcome.kind === 'asks');
    assert.deepEqual(outcome.usage, { input_tokens: 0, output_tokens: 0, model_calls: 1 });
    assert.deepEqual(await readRunUsage(fresh.database, work.executionId), outcome.usage);
  });

  it('adds a limited number of messages to the feed of its run, and numbers those of a repeat further', async () => {
    const { database } = fresh;
    const texts = async (type: string) =>
      (await feedOf(database, work.executionId))
        .filter((event) => event.type === type)
        .map(({ data }) => data['text']);
    const first = await createAgentFeed({ database, clock }, work);
    for (let number = 1; number < MAX_AGENT_MESSAGES; number += 1) first.message(`message ${number}`);
    await first.flush();
    const again = await createAgentFeed({ database, clock }, work);
    again.message('the last one');
    again.message('one too many');
    again.progress(50, 'halfway');
    await again.flush();
    assert.equal((await texts('agent.message')).at(-1), 'the last one');
    assert.deepEqual(await texts('step.progress'), ['halfway']);
  });
});
