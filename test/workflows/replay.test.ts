import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { stepIdsOf } from '../../src/database/common/ids.ts';
import { requestCallbackRetry } from '../../src/database/tasks/callbacks.ts';
import { savePushConfig } from '../../src/database/tasks/push.ts';
import { findPlan } from '../../src/database/tasks/reruns.ts';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { createRerunPlan } from '../../src/domain/tasks/rerun.ts';
import { agentsBundle, workflowBundle } from '../../src/runtime/bundle.ts';
import { backlogWorkflowId, manualRetriesWorkflowId } from '../../src/temporal/delivery-messages.ts';
import { createSealing, pushSecretsContext } from '../../src/security/sealing.ts';
import { callbackRetryWorkflowId, pushWorkflowId } from '../../src/temporal/task-messages.ts';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import { startDeliveries, type Deliveries } from '../support/deliveries.ts';
import { failCallback } from '../support/ended-run.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver } from '../support/receiver.ts';
import { continues, executionsOf as runExecutionsOf, submitLong } from '../support/long-runs.ts';
import { startRuns, useRuntime, type Runs } from '../support/runs.ts';
import { playModels } from './model-plays.ts';
import { playRemotes } from './remote-plays.ts';

const FOLDER = join(import.meta.dirname, 'histories');
/** Histories of the workflows of agents, which have a separate bundle. */
const AGENTS_FOLDER = join(FOLDER, 'agents');

/**
 * Histories of workflows that ran on earlier versions. The current code must replay them, or active runs break at the
 * next deployment. After an incompatible change that is guarded by `patched`,
 * `RECORD_HISTORIES=1 npm test -- replay` records new ones (`models`, `deliveries`: only those; or a list of
 * scenario names, separated by commas). Commit them in addition to the old ones.
 */
describe('a recorded history', function () {
  before(async () => {
    useRuntime(pino({ level: 'silent' }));
    const recording = process.env['RECORD_HISTORIES'];
    if (recording && recording !== 'models') {
      await recordPlays(recording);
      if (['1', 'deliveries'].includes(recording)) await recordDeliveries();
    }
    if (!recording) return;
    const isWanted = (name: string) => recording === '1' || recording.split(',').includes(name);
    await playRemotes(isWanted, async (name, id, runs) => await recordRun(runs, id, name));
    await recordModels(recording);
  });

  for (const folder of [FOLDER, AGENTS_FOLDER]) {
    const ofAgents = folder === AGENTS_FOLDER;
    for (const name of namesIn(folder)) {
      it(`replays: ${ofAgents ? 'agents/' : ''}${basename(name, '.json')}`, async () => {
        const bundle = await bundleOf(folder);
        await Worker.runReplayHistory({ workflowBundle: bundle, replayName: name }, historyIn(folder, name));
      });
    }
  }

  it('replays beside the others in one worker, twice: workflows share their code, which keeps nothing', async () => {
    for (const folder of [FOLDER, AGENTS_FOLDER]) {
      const names = namesIn(folder);
      const replayed = [...names, ...names.toReversed()].map((name, index) => ({
        workflowId: `${name}:${index}`,
        history: historyIn(folder, name),
      }));
      const options = { workflowBundle: await bundleOf(folder), replayName: basename(folder) };
      const results = Worker.runReplayHistories(options, replayed);
      let count = 0;
      for await (const { workflowId, error } of results) {
        assert.equal(error, undefined, workflowId);
        count += 1;
      }
      assert.equal(count, replayed.length);
    }
  });

  it('exists for many paths of a run', () => {
    assert.ok(readdirSync(FOLDER).length >= 8);
    assert.ok(readdirSync(AGENTS_FOLDER).length >= 10);
  });
});

function namesIn(folder: string): string[] {
  return readdirSync(folder).filter((file) => file.endsWith('.json'));
}

function historyIn(folder: string, name: string): ReturnType<typeof historyFromJSON> {
  return historyFromJSON(JSON.parse(readFileSync(join(folder, name), 'utf8')));
}

async function bundleOf(folder: string): ReturnType<typeof workflowBundle> {
  return await (folder === AGENTS_FOLDER ? agentsBundle : workflowBundle)(new DefaultLogger('ERROR'));
}

/** Records the scenarios of a list of names, separated by commas; `1` for all. */
async function recordPlays(names: string): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const runs = await startRuns();
  try {
    for (const [name, play] of Object.entries(PLAYS)) {
      if (names !== '1' && !names.split(',').includes(name)) continue;
      const id = await play(runs);
      await runs.client.workflow
        .getHandle(id)
        .result()
        .catch(() => {});
      await recordRun(runs, id, name);
    }
  } finally {
    await runs.close();
  }
}

/** Records the scenarios of deliveries, for a webhook with one place. */
async function recordDeliveries(): Promise<void> {
  const environment = { ATTEMPTS_AT_ONCE: '4', ATTEMPTS_AT_ONCE_PER_WEBHOOK: '1' };
  const world = await startDeliveries({ environment });
  const receiver = await startReceiver();
  const webhookId = await world.webhook({ url: receiver.url });
  try {
    for (const [name, play] of Object.entries(DELIVERY_PLAYS)) {
      const held: ServerResponse[] = [];
      const sent = receiver.requests.length;
      receiver.answering((_request, response) => void held.push(response));
      const id = await play(world, webhookId);
      await receiver.receives(sent + 1);
      // Longer than an attempt waits for its place.
      await wait(3_000);
      receiver.answering(204);
      for (const response of held) response.writeHead(204).end();
      await world.client.workflow.getHandle(id).result();
      await record(world, id, join(FOLDER, name));
    }
  } finally {
    await receiver.close();
    await world.close();
  }
}

/** Records the scenarios of agents with models: the history of each run and of each of its child executions. */
async function recordModels(names: string): Promise<void> {
  mkdirSync(AGENTS_FOLDER, { recursive: true });
  const isWanted = (name: string) => ['1', 'models'].includes(names) || names.split(',').includes(name);
  await playModels(isWanted, async (name, id, runs) => {
    await recordRun(runs, id, name);
    const children = await eventually('all executions have ended', async () => {
      const found = await executionsOf(runs, `${id}:`);
      return found.length > 0 && found.every(({ status }) => status.name !== 'RUNNING') && found;
    });
    const inOrder = children.toSorted((one, other) => one.startTime.getTime() - other.startTime.getTime());
    for (const [index, { workflowId, runId }] of inOrder.entries()) {
      await record(runs, workflowId, join(AGENTS_FOLDER, `${name}-${index + 1}`), runId);
    }
  });
}

/** Records the history of a run, or of each of its executions if it continued as new. */
async function recordRun(runs: Runs, id: string, name: string): Promise<void> {
  const executions = await runExecutionsOf(runs, id);
  if (executions.length === 1) return await record(runs, id, join(FOLDER, name));
  for (const [index, { runId }] of executions.entries())
    await record(runs, id, join(FOLDER, `${name}-${index + 1}`), runId);
}

/** Returns all executions of workflows whose ids start with `beginning`. */
async function executionsOf(runs: Runs, beginning: string): Promise<WorkflowExecutionInfo[]> {
  const found: WorkflowExecutionInfo[] = [];
  const query = `WorkflowId STARTS_WITH '${beginning}'`;
  for await (const execution of runs.client.workflow.list({ query })) found.push(execution);
  return found;
}

async function record(
  { client }: Pick<Runs, 'client'>,
  workflowId: string,
  path: string,
  runId?: string,
): Promise<void> {
  const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  writeFileSync(`${path}.json`, withoutPlaces(historyToJSON(history)));
}

/** Returns the history without the names of the machine, process and paths that recorded it. */
function withoutPlaces(json: string): string {
  const replaced = JSON.parse(json, (key, value) => {
    if (key === 'identity' && value) return 'recorder';
    if (key === 'stackTrace') return '';
    // The name of a sticky queue contains the worker's identity.
    return typeof value === 'string' ? value.replace(/\d+@[\w.-]+?(?=-[0-9a-f]{32}|$)/, 'recorder') : value;
  });
  return `${JSON.stringify(replaced, null, 1)}\n`;
}

const me = { by: 'key:test' };
const NOWHERE = 'https://127.0.0.1:1/';

const PLAYS: Record<string, (runs: Runs) => Promise<string>> = {
  completed: (runs) => runs.submit({}),
  'completed-slowly': (runs) => runs.submit({ rehearsal: { steps: 2, step_ms: 300, progress_events: 3 } }),
  async 'called-back'(runs) {
    const receiver = await startCallbackReceiver();
    try {
      const id = await runs.submit({ rehearsal: { steps: 1 }, callbackUrl: receiver.url });
      await receiver.receives(1);
      return id;
    } finally {
      await receiver.close();
    }
  },
  async 'callback-retried'(runs) {
    const executionId = await runs.submit({ rehearsal: { steps: 1 }, callbackUrl: NOWHERE });
    await failCallback(runs.database, executionId);
    const retry = { executionId, retryId: randomUUIDv7() };
    const { workspace_id: workspaceId } = runs.installation;
    await requestCallbackRetry(runs.database, { ...retry, workspaceId, actor: me.by, now: new Date() });
    await runs.control.retryCallback(retry);
    return callbackRetryWorkflowId(retry);
  },
  async pushed(runs) {
    const receiver = await startCallbackReceiver();
    try {
      const executionId = await runs.submit({ rehearsal: { steps: 1 } });
      await runs.reaches(executionId, 'completed');
      const push = { executionId, id: 'main' };
      const plain = JSON.stringify({ token: null, authorization: null });
      const secrets = createSealing(runs.configuration.sealingKeys).seal(plain, pushSecretsContext(push));
      await savePushConfig(runs.database, { ...push, url: receiver.url, secrets, after: 0, now: new Date() });
      await runs.control.sendPushes(push);
      await runs.client.workflow.getHandle(pushWorkflowId(push)).result();
      return pushWorkflowId(push);
    } finally {
      await receiver.close();
    }
  },
  'called-back-in-vain': (runs) => runs.submit({ rehearsal: { steps: 1 }, callbackUrl: NOWHERE }),
  recovered: (runs) => runs.submit({ rehearsal: { steps: 2, fail: { step: 1, times: 2 } } }),
  failed: (runs) => runs.submit({ rehearsal: { unrecoverable: { step: 3 }, step_ms: 300 } }),
  escalated: (runs) => runs.submit({ rehearsal: { escalate: { step: 2, reason: 'why?' } } }),
  'planning-failed': (runs) => runs.submit({ rehearsal: { steps: 1, fail: { step: 2, times: 1 } } }),
  async asked(runs) {
    const id = await runs.submit({ rehearsal: { steps: 2, ask: { step: 2, question: 'May I?' } } });
    await runs.reaches(id, 'paused');
    await runs.control.continue(id, { ...me, reason: 'yes' });
    await runs.reaches(id, 'completed');
    return id;
  },
  async 'question-withdrawn'(runs) {
    const rehearsal = { step_ms: 500, ask: { step: 3, question: 'May I?' }, unrecoverable: { step: 4 } };
    const id = await runs.submit({ taskType: 'feature', rehearsal });
    await runs.reaches(id, 'failed');
    return id;
  },
  async 'answered-early'(runs) {
    const id = await runs.submit({
      rehearsal: { steps: 2, step_ms: 500, ask: { step: 2, question: 'May I?' } },
    });
    await runs.reaches(id, 'executing');
    await runs.control.continue(id, { ...me, reason: 'yes', question: '1' });
    await runs.reaches(id, 'completed');
    return id;
  },
  async 'taken-up'(runs) {
    const first = await runs.submit({ rehearsal: { steps: 3 } });
    const { steps } = await runs.reaches(first, 'completed');
    const plan = await findPlan(runs.database, first);
    if (!plan) throw new Error('a run without a plan');
    const id = randomUUIDv7();
    const kept = { kept: ['step-1'], results: [], artifacts: [] };
    const row = await runs.row(first);
    const started = { id, created_at: new Date(), plan: createRerunPlan(plan, steps, kept, stepIdsOf(id)) };
    const { workspace_id, project_id, created_by, title, task_type, metadata, callback_secret } = row;
    const members = { workspace_id, project_id, created_by, title, task_type, metadata, callback_secret };
    await insertRun(runs.database, { ...members, description: null, callback_url: null, ...started });
    await runs.control.start({
      id,
      workspaceId: workspace_id,
      projectId: project_id,
      title,
      taskType: task_type,
      rehearsal: { steps: 3 },
      hasCallback: false,
      hasPlan: true,
      createdAt: started.created_at,
    });
    await runs.reaches(id, 'completed');
    return id;
  },
  async paused(runs) {
    const id = await runs.submit({ rehearsal: { start_ms: 200, plan_ms: 200, step_ms: 300, steps: 2 } });
    for (const state of ['initializing', 'planning', 'executing'] as const) {
      await runs.reaches(id, state);
      await runs.control.pause(id, me);
      await runs.reaches(id, 'paused');
      await runs.control.continue(id, me);
    }
    return id;
  },
  async continued(runs) {
    const rehearsal = { step_ms: 260, steps: 6, ask: { step: 2, question: 'May I?' } };
    const id = await submitLong(runs, 20, { rehearsal });
    await runs.reaches(id, 'paused');
    while ((await continues(runs, id, 1)).length < 3) await runs.control.pause(id, me);
    await runs.control.continue(id, me);
    await runs.reaches(id, 'completed');
    return id;
  },
  async 'paused-in-the-engine'(runs) {
    const id = await runs.submit({ rehearsal: { step_ms: 300, steps: 2 } });
    await runs.reaches(id, 'executing');
    const { namespace } = runs.client.options;
    await runs.client.workflowService.pauseWorkflowExecution({
      namespace,
      workflowId: id,
      identity: 'operator',
      reason: 'a look',
      requestId: id,
    });
    await runs.reaches(id, 'paused');
    await runs.control.continue(id, me);
    return id;
  },
  async cancelled(runs) {
    const id = await runs.submit({ rehearsal: { step_ms: 5_000 } });
    await runs.reaches(id, 'executing');
    await runs.control.cancel(id, { ...me, reason: 'enough' });
    return id;
  },
  async 'cancelled-in-the-engine'(runs) {
    const id = await runs.submit({ rehearsal: { step_ms: 5_000 } });
    await runs.reaches(id, 'executing');
    await runs.client.workflow.getHandle(id).cancel();
    return id;
  },
};

/** Each starts two attempts of the same deliveries for a webhook with one place, whose receiver holds the first one. */
const DELIVERY_PLAYS: Record<string, (world: Deliveries, webhookId: string) => Promise<string>> = {
  async backlog(world, webhookId) {
    await world.publish([{}, {}]);
    return backlogWorkflowId(webhookId);
  },
  async 'manual-retries'(world, webhookId) {
    for (const row of await world.deliveries(webhookId)) await world.requestRetry(row);
    await world.control.makeManualRetries(webhookId);
    return manualRetriesWorkflowId(webhookId);
  },
};
