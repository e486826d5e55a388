import { z } from 'zod';
import { createAnswerCache } from '../../database/common/answer-cache.ts';
import { checkReadiness } from '../../database/common/readiness.ts';
import { readWaitingWork, type WaitingWork } from '../../database/common/waiting-work.ts';
import type { Dependencies } from '../dependencies.ts';
import { Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';

const live = z.strictObject({ status: z.literal('live') }).meta({ id: 'Live' });
const check = z.strictObject({ status: z.enum(['ok', 'failing']), reason: z.string().nullable() });
const waiting = z.strictObject({ count: z.int().min(0), oldest_seconds: z.number().min(0) });
const ready = z
  .strictObject({
    status: z.enum(['ready', 'not_ready']),
    checks: z.strictObject({ postgres: check, temporal: check }),
    waiting: z
      .strictObject({ tasks: waiting, events: waiting })
      .nullable()
      .describe('Accepted work that Temporal has not started yet; null if it cannot be counted'),
  })
  .meta({ id: 'Ready' });

/** Anybody may ask, so that all questions within this time get one answer, in milliseconds. */
const FRESH_MS = 1_000;

/** Returns the health routes: `live` means that the process runs, `ready` that it can work. */
export function healthRoutes(deps: Dependencies): Route[] {
  const answers = createAnswerCache<Awaited<ReturnType<typeof readinessOf>>>(() => FRESH_MS);
  return [
    route({
      method: 'get',
      path: '/health/live',
      operationId: 'readLiveness',
      tag: 'health',
      summary: 'Check whether the process is running',
      access: { kind: 'public' },
      limit: 'none',
      responses: { 200: { description: 'Running', schema: live } },
      handle: async () => ({ status: 200, body: { status: 'live' } }),
    }),
    route({
      method: 'get',
      path: '/health/ready',
      operationId: 'readReadiness',
      tag: 'health',
      summary: 'Check whether the service is ready, with reasons',
      access: { kind: 'public' },
      limit: 'none',
      responses: {
        200: { description: 'Ready', schema: ready },
        503: { description: 'Not ready', schema: ready },
      },
      async handle() {
        const { postgres, temporal, work } = await answers.find('ready', () => readinessOf(deps));
        const isReady = work !== null && !deps.stopping.aborted;
        const body = {
          status: isReady ? 'ready' : 'not_ready',
          checks: { postgres, temporal },
          waiting: work && { tasks: shownOf(work.tasks), events: shownOf(work.events) },
        };
        return { status: isReady ? 200 : 503, body };
      },
    }),
    route({
      method: 'get',
      path: '/health/channel',
      operationId: 'readChannelStatistics',
      tag: 'health',
      summary: 'Get live channel statistics of this process',
      access: { kind: 'public' },
      limit: 'none',
      responses: { 200: { description: 'The statistics', schema: channelStatistics } },
      problems: ['not_found'],
      async handle() {
        const body = deps.channelStatistics();
        if (body === null) throw new Problem('not_found', 'This process does not serve the live channel.');
        return { status: 200, body };
      },
    }),
  ];
}

async function readinessOf({ database, control }: Dependencies) {
  const checks = await checkReadiness(database, control.ready);
  const canCount = checks.postgres.status === 'ok';
  return { ...checks, work: canCount ? await readWaitingWork(database).catch(() => null) : null };
}

function shownOf({ count, oldestSeconds }: WaitingWork['tasks']) {
  return { count, oldest_seconds: Math.round(oldestSeconds * 10) / 10 };
}

/** As {@link ChannelNumbers} says. */
const lag = z.number().nullable();
const count = z.int().min(0);
const channelStatistics = z
  .strictObject({
    connections: count,
    rooms: z.strictObject({ workflow: count, webhook: count }).describe('Rooms with at least one connection'),
    events_sent: count.describe('Events sent since startup, counted once per client'),
    events_per_second: z.number().describe('Average of the last ten seconds'),
    lag_ms: z
      .strictObject({ p50: lag, p95: lag, max: lag })
      .describe('From writing an event to sending it; null before the first event'),
    dropped: z.record(z.string(), count).describe('Connections refused or closed by the service, by reason'),
  })
  .meta({ id: 'ChannelStatistics' });
