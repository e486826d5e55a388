import { createGroupStarter } from '../src/api/events/group-starter.ts';
import type { AttemptResult } from '../src/database/webhooks/delivery-results.ts';
import type { AttemptTrigger } from '../src/domain/webhooks/delivery.ts';
import { createDeliveryControl } from '../src/temporal/delivery-control.ts';
import { createEngine } from './engine/engine.ts';
import { createTasks, GRACE_MS, type Worker } from './engine/tasks.ts';
import { createObserver } from './invariants/observer.ts';
import { watchPlaces } from './invariants/places.ts';
import { createPeople } from './people.ts';
import { DELIVERY_PARTS, SILENT, startReconciler } from './reconciler.ts';
import { createLedger } from './store/ledger.ts';
import { createMemoryStore, createTransactions, STORE_LATENCY_MS } from './store/memory-store.ts';
import { createTables, type Tables } from './store/tables.ts';
import { describeStep, type Step, type Story } from './story.ts';
import { startWorker } from './worker.ts';
import { createProcess, type Clock, type Process } from './world/clock.ts';
import { createFaults } from './world/faults.ts';
import { createRandom } from './world/random.ts';
import { createReceivers, NETWORK_MS } from './world/receivers.ts';
import { stopProcess } from './world/stopping.ts';
import { tellStory, type Journal, type Outcome, type World } from './world/tell-story.ts';

/** Steps after which requests may be repeated. */
const DISORDERLY = [
  'crash',
  'crash when recorded',
  'freeze',
  'api crash',
  'store fails',
  'engine fails',
  'terminate',
] as const;

/** Runs a story about events and deliveries in a world of its own. */
export async function runStory(story: Story): Promise<Outcome> {
  return await tellStory(story.seed, (clock, journal) => createWorld(story, clock, journal));
}

function createWorld(story: Story, clock: Clock, { trace, report, newId }: Journal): World {
  const { seed } = story;
  const tables = createTables(
    () => new Date(),
    () => newId('group'),
  );
  const breaks = (kind: Step['kind']) => story.steps.some((step) => step.kind === kind);
  const isOrderly = !DISORDERLY.some(breaks);
  const isCalm = isOrderly && !breaks('stop') && !breaks('api stop');
  // A lookup and the request after it, each with its longest latency.
  const slowest = breaks('store fails') ? 20 : 1;
  const slackMs = 2 * STORE_LATENCY_MS * slowest + 2 * NETWORK_MS + 10;
  const of = { isCalm, isOrderly, mayFreeze: breaks('freeze') };
  const observer = createObserver({ clock, tables, slackMs, of, report });
  const storeFaults = createFaults(clock, createRandom(`store ${seed}`));
  const engineFaults = createFaults(clock, createRandom(`engine ${seed}`));
  /** What happens when an attempt is recorded: it gets the worker. */
  const whenRecorded = new Map<AttemptTrigger, (by: Process) => void>();
  const transact = createTransactions({ clock, faults: storeFaults }, (commit, step) => {
    const result = observer.around(commit, step);
    const results = commit.name === 'recordResults' ? (commit.given[0] as readonly AttemptResult[]) : [];
    for (const { trigger } of results) {
      const happen = whenRecorded.get(trigger);
      whenRecorded.delete(trigger);
      if (commit.by) happen?.(commit.by);
    }
    if (!/^(read|list|find|markMade)/.test(commit.name))
      trace(`${commit.by?.name ?? 'world'} ${commit.name} ${stateOf(tables)}`);
    return result;
  });
  const store = createMemoryStore(createLedger(tables), transact);
  const tasks = createTasks(clock, createRandom(`tasks ${seed}`), () => engineFaults.delay(12));
  const engine = createEngine(clock, engineFaults, tasks);
  const control = createDeliveryControl({ client: engine.client, taskQueue: 'simulated' });
  const receivers = createReceivers(clock, createRandom(`receivers ${seed}`), {
    onSend: observer.onSend,
    onArrival(arrival) {
      const { by, trigger, deliveryId, webhookId } = arrival;
      trace(`${by.name} ${trigger} request of ${deliveryId} arrives at ${webhookId}`);
      observer.onArrival(arrival);
    },
    onResponse: observer.onResponse,
  });

  const workerOf = (name: string) =>
    startWorker(name, {
      clock,
      store,
      control,
      receivers,
      limits: story.limits,
      watchPlaces: (limiter) => watchPlaces(limiter, clock, (what) => report('turns', `${name}: ${what}`)),
      trace,
    });
  let workers: Worker[] = [];
  let started = 0;
  const addWorker = () => {
    const worker = workerOf(`worker-${(started += 1)}`);
    workers.push(worker);
    tasks.addWorker(worker);
  };

  const startApi = (name: string) => ({
    process: createProcess(name),
    starter: createGroupStarter({ store, control, ownAttempts: null, log: SILENT }),
    requests: new Set<Promise<void>>(),
    accepts: true,
  });
  let api = startApi('api-1');
  const people = createPeople({ clock, tables, store, control, newId, trace });
  for (const [index, { workspace, mode }] of story.webhooks.entries()) {
    const id = people.createWebhook(index, workspace);
    receivers.setMode(id, mode);
  }
  const reconciler = startReconciler(clock, createProcess('reconciler'), DELIVERY_PARTS, {
    store,
    deliveryControl: control,
    clock: () => new Date(),
    log: SILENT,
    engine,
    positions: { deliveries: null, retries: null },
  });
  for (let count = 0; count < story.workers; count += 1) addWorker();

  /** Ends a worker; another one starts later. */
  function crash(worker: Worker, forMs: number): void {
    clock.kill(worker.process);
    tasks.removeWorker(worker);
    workers = workers.filter((one) => one !== worker);
    clock.after(forMs, null, addWorker);
  }

  /** Stops a worker as SIGTERM does; another one starts later. */
  function stop(worker: Worker, forMs: number): void {
    const stoppedAt = clock.now();
    workers = workers.filter((one) => one !== worker);
    const close = async () => {
      await tasks.stopWorker(worker);
      await worker.close();
    };
    stopProcess(clock, worker.process, close, () => observer.onExit(worker.process, clock.now() - stoppedAt));
    clock.after(forMs, null, addWorker);
  }

  function freeze({ process }: Worker, forMs: number): void {
    clock.freeze(process);
    clock.after(forMs, null, () => {
      clock.thaw(process);
      tasks.assignAll();
    });
  }

  function crashApi(forMs: number): void {
    clock.kill(api.process);
    clock.after(forMs, null, () => (api = startApi('api-2')));
  }

  /** Stops the API as SIGTERM does: it ends its requests, and starts the groups that it has stored. */
  function stopApi(forMs: number): void {
    const { process, requests, starter } = api;
    api.accepts = false;
    stopProcess(clock, process, async () => {
      await Promise.race([Promise.all(requests), clock.sleep(GRACE_MS)]);
      await starter.close();
    });
    clock.after(forMs, null, () => (api = startApi('api-2')));
  }

  function take(step: Step): void {
    const inApi = (work: () => Promise<void>) => {
      const { process, requests, accepts } = api;
      if (process.state !== 'up' || !accepts) return;
      clock.within(process, () => {
        const request = work()
          .catch((error: unknown) => trace(`api: ${String(error)}`))
          .finally(() => requests.delete(request));
        requests.add(request);
      });
    };
    const worker = 'worker' in step ? workers[step.worker % Math.max(1, workers.length)] : undefined;
    const webhookId = 'webhook' in step ? people.webhookAt(step.webhook) : '';
    switch (step.kind) {
      case 'events':
        return inApi(() => people.acceptEvents(step.workspace, step.count, api.starter));
      case 'receiver':
        return receivers.setMode(webhookId, step.mode);
      case 'crash':
        return worker && crash(worker, step.forMs);
      case 'freeze':
        return worker && freeze(worker, step.forMs);
      case 'api crash':
        return crashApi(step.forMs);
      case 'stop':
        return worker && stop(worker, step.forMs);
      case 'api stop':
        return stopApi(step.forMs);
      case 'crash when recorded':
        whenRecorded.set(step.trigger, (by) => {
          const recorder = workers.find(({ process }) => process === by);
          if (recorder) crash(recorder, step.forMs);
        });
        return;
      case 'terminate':
        return trace(`an operator terminates ${engine.terminate(step.workflow)}`);
      case 'store fails':
        return storeFaults.begin(step.forMs, step.probability);
      case 'engine fails':
        return engineFaults.begin(step.forMs, step.probability);
      case 'activate':
      case 'deactivate':
        return inApi(() => store.setActive(webhookId, step.kind === 'activate'));
      case 'recover':
        return inApi(() => people.recover(webhookId));
      case 'delete':
        return inApi(() => people.deleteWebhook(webhookId));
      case 'retry':
        return inApi(() => people.retry(step.delivery, step.inMs));
    }
  }

  let stepsLeft = story.steps.length;
  const lastAt = Math.max(...story.steps.map(({ at }) => at), 0);
  for (const step of story.steps) {
    clock.after(step.at, null, () => {
      stepsLeft -= 1;
      trace(`STEP ${describeStep(step).trim()}`);
      take(step);
      reconciler.wake();
    });
  }
  const isQuiet = () => stepsLeft === 0 && leftIn(tables) === '' && engine.openWorkflows().length === 0;

  return {
    lastAt,
    isQuiet,
    atEnd: [() => observer.onEnd(isQuiet(), `${leftIn(tables)} ${engine.openWorkflows().join(' ')}`)],
  };
}

/** Returns what waits in the tables, in words; empty if nothing does. */
function leftIn({ groups, deliveries, retries, manualRetries }: Tables): string {
  const left: string[] = [];
  for (const { id, done_at: doneAt } of groups.values()) if (doneAt === null) left.push(`group ${id}`);
  for (const { id, status } of deliveries.values())
    if (status === 'pending' || status === 'retrying') left.push(`${status} ${id}`);
  for (const { token, ended_at: endedAt, cancelled_at: cancelledAt } of retries.values())
    if (endedAt === null && cancelledAt === null) left.push(`retry ${token}`);
  for (const { token, ended_at: endedAt } of manualRetries.values())
    if (endedAt === null) left.push(`manual retry ${token}`);
  return left.join(', ');
}

/** Returns the deliveries in short: one letter of the status, failures and attempts of each. */
function stateOf({ deliveries }: Tables): string {
  return [...deliveries.values()]
    .map(({ status, failures, attempts_count: attempts }) => `${status[0]}${failures}/${attempts}`)
    .join(' ');
}
