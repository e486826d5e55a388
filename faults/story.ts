import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { local } from '../dev/common/paths.ts';
import { createTestAuthority } from '../test/support/certificates.ts';
import { createRandom } from '../test/support/random.ts';
import type { Books, Made, WebhookBook } from './books.ts';
import { createCaller, type Caller } from './caller.ts';
import { startCast, type Cast } from './cast.ts';
import { checkStory } from './checks.ts';
import { collectTables, collectWorkflows, openWork } from './collect.ts';
import { makeDisturbances } from './disturb.ts';
import { publishEvents } from './events.ts';
import { sendTheRest, watchOver } from './operator.ts';
import type { StoryPlan } from './plan.ts';
import { seatReceivers, type Seated } from './receiving.ts';
import { writeReport, type Report } from './report.ts';
import { submitTasks } from './tasks.ts';
import { seatViewers } from './viewers.ts';

type Say = (sentence: string) => void;

/** How long the rest may take to settle after all disturbances, on any machine. */
const SETTLES_WITHIN_MS = 240_000;
const TELLS_EVERY_MS = 10_000;
/** A story that is interrupted takes its service down and ends with this code. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const INTERRUPTED = 130;
/** What is under way when the load ends is given so long before the operator sends the rest. */
const RETRIES_SEEN_MS = 20_000;

/**
 * Plays a story on the real service and holds against each other what everybody has seen of it. The report is also
 * written to `.local/faults/<seed>.json`, and the logs of all processes beside it.
 */
export async function playStory(plan: StoryPlan, say: Say): Promise<Report> {
  const began = Date.now();
  const authority = await createTestAuthority('Faults');
  const logs = local('faults', `${plan.seed}-logs`);
  const cast = await startCast(authority.ca, logs);
  const takeDown = () => void cast.close().finally(() => process.exit(INTERRUPTED));
  for (const signal of SIGNALS) process.once(signal, takeDown);
  say(`the service is up: ${Object.keys(cast.parts).length} processes; PostgreSQL lies on ${cast.disk.how}`);
  try {
    const seated = await seatReceivers(cast, authority, createRandom(plan.seed).fork());
    try {
      const report = await play(plan, cast, seated, say, began);
      writeReport(local('faults', `${plan.seed}.json`), report);
      return report;
    } finally {
      await seated.close();
    }
  } finally {
    for (const signal of SIGNALS) process.off(signal, takeDown);
    await cast.close();
  }
}

async function play(plan: StoryPlan, cast: Cast, seated: Seated, say: Say, began: number): Promise<Report> {
  const caller = createCaller(cast.apiUrls, cast.installation.api_key);
  const since = new Date();
  const webhooks = await seated.makeWebhooks(caller);
  const start = Date.now();
  const until = (at: number) => wait(Math.max(0, start + at - Date.now()));
  let isOver = false;
  const over = () => isOver;

  const watch = watchOver(cast.parts, say);
  const audience = seatViewers(caller, cast.gatewayUrls, over);
  const tasks = submitTasks(
    {
      caller,
      projectId: cast.installation.project_id,
      callbackUrl: seated.callbackUrl,
      until,
      isOver: over,
      onTaken: audience.seat,
    },
    plan.tasks,
  );
  const events = publishEvents({ caller, until, isOver: over }, plan.events);
  const tally = () => {
    const taken = tasks.books.filter(({ ids }) => ids.length > 0).length;
    const { all, withEnd } = audience.count();
    return (
      `${taken} of ${plan.tasks.length} tasks taken, ${events.books.length} events, ` +
      `${seated.arrived()} requests at receivers, ${withEnd} of ${all} viewers saw the end; ` +
      `${caller.tally.refused} refusals, ${caller.tally.cut} cut`
    );
  };
  const telling = setInterval(() => say(tally()), TELLS_EVERY_MS);
  const made = await makeDisturbances(
    { cast, troubles: seated.troublesFor(caller, since, over), until, say, expecting: watch.expecting },
    plan.disturbances,
  );
  await until(plan.loadMs);
  const loadEnded = Date.now();
  say('load and disturbances are over');
  seated.beWell();
  await wait(RETRIES_SEEN_MS);
  const limit = setTimeout(() => (isOver = true), SETTLES_WITHIN_MS);
  const { retriedNow } = await settle(cast, caller, webhooks, since, say, over);
  await Promise.race([Promise.all([tasks.done, events.done]), untilTrue(over)]);
  await untilTrue(() => isOver || audience.count().withEnd === audience.count().all);
  const settled = Date.now();
  clearTimeout(limit);
  isOver = true;
  clearInterval(telling);
  await Promise.all([tasks.done, events.done]);
  await watch.stop();
  say(tally());

  const books = await collect(cast, { caller, made, webhooks, tasks, events, audience, seated });
  books.unbidden.push(...watch.unbidden);
  return {
    plan: { seed: plan.seed, minutes: plan.minutes, loadMs: plan.loadMs },
    lines: checkStory(books),
    made,
    facts: {
      'disk quota': cast.disk.how,
      'load lasted': inSeconds(loadEnded - start),
      'settled after': inSeconds(settled - loadEnded),
      'the whole story': inSeconds(Date.now() - began),
      'deliveries that the operator retried at the end': retriedNow,
      'requests of callers': `${caller.tally.answered} answered, ${caller.tally.refused} refused (503), ${caller.tally.cut} cut off`,
      'logs of the processes': join(cast.logs),
    },
  };
}

/** Until nothing is under way any more. What waits for a retry by the schedule is sent at once. */
async function settle(
  cast: Cast,
  caller: Caller,
  webhooks: readonly WebhookBook[],
  since: Date,
  say: Say,
  isOver: () => boolean,
): Promise<{ retriedNow: number }> {
  let retriedNow = 0;
  for (;;) {
    const open = await openWork(cast.databaseUrl).catch(() => null);
    if (open && Object.values(open).every((count) => count === 0)) return { retriedNow };
    if (isOver()) {
      say(`not settled in time: ${JSON.stringify(open)}`);
      return { retriedNow };
    }
    if (open && open.deliveries > 0)
      retriedNow += (await sendTheRest(caller, webhooks, since, isOver)).retriedNow;
    await wait(2_500);
  }
}

type Witnesses = {
  caller: Caller;
  made: Made[];
  webhooks: WebhookBook[];
  tasks: ReturnType<typeof submitTasks>;
  events: ReturnType<typeof publishEvents>;
  audience: ReturnType<typeof seatViewers>;
  seated: Seated;
};

async function collect(cast: Cast, witnesses: Witnesses): Promise<Books> {
  const { caller, made, webhooks, tasks, events, audience, seated } = witnesses;
  // What the viewers have is taken before the tables are read, which may grow still.
  const viewers = await audience.books();
  const { callbackLog, ...tables } = await collectTables(cast.databaseUrl);
  return {
    ...tables,
    viewers,
    tasks: [...tasks.books],
    strangeAnswers: [...caller.strange],
    callbacks: { log: callbackLog, arrivals: seated.callbacks },
    webhooks,
    events: [...events.books],
    workflows: await collectWorkflows(cast.temporalAddress, cast.namespace),
    made,
    unbidden: [],
  };
}

async function untilTrue(holds: () => boolean): Promise<void> {
  while (!holds()) await wait(250);
}

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
