import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { local } from '../dev/common/paths.ts';
import { createTestAuthority } from '../test/support/certificates.ts';
import { createRandom } from '../test/support/random.ts';
import type { ScenarioRecords, InjectedFault, WebhookRecord } from './records.ts';
import { createCaller, type Caller } from './caller.ts';
import { startProxiedService, type ProxiedService } from './service.ts';
import { checkInvariants } from './checks.ts';
import { collectTables, collectWorkflows, countOpenWork } from './collect.ts';
import { injectFaults } from './inject-faults.ts';
import { publishEvents } from './events.ts';
import { sendPending, superviseProcesses } from './operator.ts';
import type { ScenarioPlan } from './plan.ts';
import { createStall, type Stall } from './stall.ts';
import { startReceivers, type ScenarioReceivers } from './receivers.ts';
import { writeReport, type Report } from './report.ts';
import { submitTasks } from './tasks.ts';
import { createViewers } from './viewers.ts';

type Log = (sentence: string) => void;

/** After all faults, the service settles as fast as the machine allows. It has failed if nothing ends for this long. */
const STALL_MS = 120_000;
const SETTLE_INTERVAL_MS = 2_500;
const PROGRESS_INTERVAL_MS = 10_000;
/** An interrupted scenario stops its service and exits with this code. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const INTERRUPTED = 130;
/** The time between the end of the load and the operator's retries. */
const GRACE_MS = 20_000;

/**
 * Runs a scenario on the real service, collects all records and checks the invariants. Writes the report to
 * `.local/faults/<seed>.json`, and the logs of all processes to a folder next to it.
 */
export async function runScenario(plan: ScenarioPlan, log: Log): Promise<Report> {
  const began = Date.now();
  const authority = await createTestAuthority('Faults');
  const logs = local('faults', `${plan.seed}-logs`);
  const service = await startProxiedService(authority.ca, logs);
  const shutDown = () => void service.close().finally(() => process.exit(INTERRUPTED));
  for (const signal of SIGNALS) process.once(signal, shutDown);
  log(
    `the service is up: ${Object.keys(service.parts).length} processes; PostgreSQL uses ${service.disk.method}`,
  );
  try {
    const receivers = await startReceivers(service, authority, createRandom(plan.seed).fork());
    try {
      const report = await run(plan, service, receivers, log, began);
      writeReport(local('faults', `${plan.seed}.json`), report);
      return report;
    } finally {
      await receivers.close();
    }
  } finally {
    for (const signal of SIGNALS) process.off(signal, shutDown);
    await service.close();
  }
}

async function run(
  plan: ScenarioPlan,
  service: ProxiedService,
  receivers: ScenarioReceivers,
  log: Log,
  began: number,
): Promise<Report> {
  const caller = createCaller(service.apiUrls, service.installation.api_key);
  const since = new Date();
  const webhooks = await receivers.createWebhooks(caller);
  const start = Date.now();
  const waitUntil = (at: number) => wait(Math.max(0, start + at - Date.now()));
  let ended = false;
  const stall = createStall(STALL_MS);
  const hasEnded = () => ended || stall.isOver();

  const supervisor = superviseProcesses(service.parts, log);
  const viewers = createViewers(caller, service.gatewayUrls, hasEnded);
  const tasks = submitTasks(
    {
      caller,
      projectId: service.installation.project_id,
      callbackUrl: receivers.callbackUrl,
      waitUntil,
      isOver: hasEnded,
      onAccepted: viewers.start,
    },
    plan.tasks,
  );
  const events = publishEvents({ caller, waitUntil, isOver: hasEnded }, plan.events);
  const describeProgress = () => {
    const accepted = tasks.records.filter(({ ids }) => ids.length > 0).length;
    const { all, withEnd } = viewers.count();
    return (
      `${accepted} of ${plan.tasks.length} tasks accepted, ${events.records.length} events, ` +
      `${receivers.requestCount()} requests at receivers, ${withEnd} of ${all} viewers received the end; ` +
      `${caller.counts.refused} refused, ${caller.counts.cut} interrupted`
    );
  };
  const progressTimer = setInterval(() => log(describeProgress()), PROGRESS_INTERVAL_MS);
  const faults = await injectFaults(
    {
      service,
      receiverFaults: receivers.faultsFor(caller, since, hasEnded),
      waitUntil,
      log,
      expectExit: supervisor.expectExit,
    },
    plan.faults,
  );
  await waitUntil(plan.loadMs);
  const loadEndedAt = Date.now();
  log('load and faults are over');
  receivers.recover();
  await wait(GRACE_MS);
  stall.report(Infinity);
  const countWaitingViewers = () => viewers.count().all - viewers.count().withEnd;
  const { retriedNow } = await waitUntilSettled({
    service,
    caller,
    webhooks,
    since,
    log,
    stall,
    countWaitingViewers,
  });
  await Promise.race([Promise.all([tasks.done, events.done]), waitFor(hasEnded)]);
  const settledAt = Date.now();
  ended = true;
  clearInterval(progressTimer);
  await Promise.all([tasks.done, events.done]);
  await supervisor.stop();
  log(describeProgress());

  const records = await collect(service, { caller, faults, webhooks, tasks, events, viewers, receivers });
  records.unexpectedExits.push(...supervisor.unexpectedExits);
  return {
    plan: { seed: plan.seed, minutes: plan.minutes, loadMs: plan.loadMs },
    invariants: checkInvariants(records),
    faults,
    facts: {
      'disk quota': service.disk.method,
      'load lasted': formatSeconds(loadEndedAt - start),
      'settled after': formatSeconds(settledAt - loadEndedAt),
      'total time': formatSeconds(Date.now() - began),
      'deliveries that the operator retried at the end': retriedNow,
      'requests of callers': `${caller.counts.completed} completed, ${caller.counts.refused} refused (503), ${caller.counts.cut} interrupted`,
      'logs of the processes': join(service.logs),
    },
  };
}

type Settling = {
  service: ProxiedService;
  caller: Caller;
  webhooks: readonly WebhookRecord[];
  since: Date;
  log: Log;
  stall: Stall;
  countWaitingViewers(): number;
};

/**
 * Waits until no work is in progress, and every viewer has received the end, or nothing ends any more. Deliveries that wait
 * for a scheduled retry are sent at once.
 */
async function waitUntilSettled(settling: Settling): Promise<{ retriedNow: number }> {
  const { service, caller, webhooks, since, log, stall, countWaitingViewers } = settling;
  let retriedNow = 0;
  for (;;) {
    const open = await countOpenWork(service.databaseUrl).catch(() => null);
    const waiting = { ...open, viewers: countWaitingViewers() };
    const left = Object.values(waiting).reduce((sum, count) => sum + count, 0);
    if (open && left === 0) return { retriedNow };
    if (open) stall.report(left);
    if (stall.isOver()) {
      log(`not settled: ${JSON.stringify(waiting)}`);
      return { retriedNow };
    }
    if (open && open.deliveries > 0)
      retriedNow += (await sendPending(caller, webhooks, since, stall.isOver)).retriedNow;
    await wait(SETTLE_INTERVAL_MS);
  }
}

type Sources = {
  caller: Caller;
  faults: InjectedFault[];
  webhooks: WebhookRecord[];
  tasks: ReturnType<typeof submitTasks>;
  events: ReturnType<typeof publishEvents>;
  viewers: ReturnType<typeof createViewers>;
  receivers: ScenarioReceivers;
};

async function collect(service: ProxiedService, sources: Sources): Promise<ScenarioRecords> {
  const { caller, faults, webhooks, tasks, events, viewers: audience, receivers } = sources;
  // The viewers' events are read before the tables, which may still grow.
  const viewers = await audience.records();
  const { callbackLog, ...tables } = await collectTables(service.databaseUrl);
  return {
    ...tables,
    viewers,
    tasks: [...tasks.records],
    unexpectedResponses: [...caller.unexpectedResponses],
    callbacks: { log: callbackLog, requests: receivers.callbacks },
    webhooks,
    events: [...events.records],
    workflows: await collectWorkflows(service.temporalAddress, service.namespace),
    faults,
    unexpectedExits: [],
  };
}

async function waitFor(holds: () => boolean): Promise<void> {
  while (!holds()) await wait(250);
}

function formatSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
