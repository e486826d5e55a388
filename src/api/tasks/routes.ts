import { z } from 'zod';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import { submission } from '../../domain/tasks/task-submission.ts';
import type { Database } from '../../database/database.ts';
import { listCallbackAttempts } from '../../database/tasks/callbacks.ts';
import { listPushAttempts } from '../../database/tasks/push.ts';
import { eraseRun } from '../../database/tasks/task-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import { requireCredential } from '../http/credential-watch.ts';
import { Problem } from '../http/problem.ts';
import { route, type RouteResponse, type Route } from '../http/route.ts';
import { bulkRoutes } from './bulk.ts';
import { eventStream, isFeedOver, respondWithEvents } from './events.ts';
import { presentAttempt, presentPushAttempt } from './presenter.ts';
import { listRoute } from './list.ts';
import { detailOf, openRun, readRun } from './read.ts';
import { rerunTask } from './rerun.ts';
import { retryCallback } from './retry-callback.ts';
import * as schema from './schema.ts';
import { applyAction, type RunAction } from './actions.ts';
import { submitTask } from './submit.ts';
import type { TaskLimits } from './task-limits.ts';
import { workRoutes } from './work-routes.ts';
import { preferredWait, readWhenChanged } from './wait.ts';

const PATH = '/api/v1/tasks';
const ONE = `${PATH}/{execution_id}`;
const reads = { kind: 'credential', scope: 'tasks:read' } as const;
const writes = { kind: 'credential', scope: 'tasks:write' } as const;
const tag = 'task';

/** Returns the routes of tasks (docs/http-api.md). */
export function taskRoutes(deps: Dependencies, limits: TaskLimits): Route[] {
  return [
    submit(deps),
    listRoute(deps),
    read(deps, limits),
    ...actionRoutes(deps, limits),
    rerun(deps),
    ...bulkRoutes(deps),
    events(deps, limits),
    callbacks(deps),
    callbackRetry(deps, limits),
    pushes(deps),
    ...workRoutes(deps),
    erase(deps),
  ];
}

function submit(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: PATH,
    operationId: 'submitTask',
    tag,
    summary: 'Submit a task',
    access: writes,
    body: submission,
    idempotent: true,
    responses: {
      201: {
        description: 'Accepted; the run was created',
        schema: schema.submitted,
        headers: { Location: 'URL to poll' },
      },
    },
    problems: ['project_not_allowed', 'unavailable'],
    handle: async ({ caller, body, text, claim }) => await submitTask(deps, caller, { body, text, claim }),
  });
}

function read(deps: Dependencies, { waits }: TaskLimits): Route {
  return route({
    method: 'get',
    path: ONE,
    operationId: 'readTask',
    tag,
    summary: 'Poll a task',
    access: reads,
    params: schema.taskParams,
    headers: z.strictObject({
      Prefer: z
        .string()
        .optional()
        .describe(
          '`wait=N`: respond when the state or the open question changes, or after N seconds (at most 60). `wait=N; state=S`: respond immediately if the state is not S',
        ),
    }),
    responses: { 200: { description: 'The run', schema: schema.detail } },
    async handle(call) {
      const row = await openRun(deps, call.caller, call.params.execution_id);
      const reading = await readRun(deps, row);
      const wait = preferredWait([call.headers.prefer].flat().join(','));
      if (wait === null) return { status: 200, body: await detailOf(deps, reading) };
      const headers = { 'Preference-Applied': `wait=${wait.seconds}` };
      const isKnown = wait.state === null || wait.state === reading.view.state;
      if (!isKnown) return { status: 200, headers, body: await detailOf(deps, reading) };
      const { caller } = call;
      const limits = { seconds: wait.seconds, signal: call.signal() };
      const later = await waits.counted(caller, () => readWhenChanged(deps, reading, limits));
      await requireCredential(deps, caller);
      return { status: 200, headers, body: await detailOf(deps, later) };
    },
  });
}

function actionRoutes(deps: Dependencies, { pauses }: TaskLimits): Route[] {
  const summaries: Record<RunAction, string> = {
    pause: 'Pause a task; no new step starts',
    continue: 'Continue a paused task',
    cancel: 'Cancel a task',
  };
  const common = (action: RunAction) => ({
    method: 'post' as const,
    path: `${ONE}/${action}`,
    operationId: `${action}Task`,
    tag,
    summary: summaries[action],
    access: writes,
    params: schema.taskParams,
    bodyOptional: true,
    responses: { 202: { description: 'Accepted; returns the current state', schema: schema.detail } },
    problems: ['invalid_state', 'unavailable'] as const,
  });
  return [
    ...(['pause', 'cancel'] as const).map((action) =>
      route({
        ...common(action),
        body: schema.actionRequest,
        handle: async ({ caller, params, body }) =>
          await applyAction(deps, caller, { id: params.execution_id, action, reason: body?.reason }, pauses),
      }),
    ),
    route({
      ...common('continue'),
      description:
        'A paused run may wait for the answer to a question of an agent (`question`). A request that names a question other than the open one is rejected, so that a repeated request does not answer a question that nobody has read.',
      body: schema.continueRequest,
      handle: async ({ caller, params, body }) =>
        await applyAction(
          deps,
          caller,
          {
            id: params.execution_id,
            action: 'continue',
            reason: body?.reason,
            question: body?.question ?? null,
          },
          pauses,
        ),
    }),
  ];
}

function rerun(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${ONE}/rerun`,
    operationId: 'rerunTask',
    tag,
    summary: 'Rerun an ended task from one of its steps',
    description:
      'Creates a new run with the same fields and its own callback secret. The new run keeps the completed steps before the step it starts from. If the run was escalated, `answer` tells the agent of the step that escalated what to do.',
    access: writes,
    params: schema.taskParams,
    body: schema.rerunRequest,
    bodyOptional: true,
    idempotent: true,
    responses: {
      201: {
        description: 'Accepted; the new run was created',
        schema: schema.rerun,
        headers: { Location: 'URL to poll the new run' },
      },
    },
    problems: ['invalid_state', 'unavailable'],
    handle: async ({ caller, params, body, claim }) =>
      await rerunTask(
        deps,
        caller,
        { id: params.execution_id, fromStep: body?.from_step ?? null, answer: body?.answer ?? null },
        claim,
      ),
  });
}

function events(deps: Dependencies, { streams }: TaskLimits): Route {
  return route({
    method: 'get',
    path: `${ONE}/events`,
    operationId: 'readTaskEvents',
    tag,
    summary: 'List the events of a run, oldest first',
    description:
      'Returns JSON immediately, or with `Accept: text/event-stream` server-sent events that follow the run to its last event. The `id` of a server-sent event is its `seq`. Its `data` is the JSON of one `FeedEvent`, as in the list and on the live channel.',
    access: reads,
    params: schema.taskParams,
    query: schema.eventParameters,
    headers: z.strictObject({
      'Last-Event-ID': z.string().optional().describe('For event streams: continue after this `seq`'),
    }),
    mediaTypes: ['application/json', 'text/event-stream'],
    responses: {
      200: {
        description: 'The events',
        schema: schema.eventList,
        mediaTypes: ['application/json', 'text/event-stream'],
      },
      204: { description: 'For a reconnecting event source: the run has ended and all events were sent' },
    },
    async handle(call): Promise<RouteResponse> {
      const row = await openRun(deps, call.caller, call.params.execution_id);
      if (call.mediaType !== 'text/event-stream') {
        return await respondWithEvents(deps, row, { after: call.query.after ?? 0, limit: call.query.limit });
      }
      const lastSeen = /^\d{1,10}$/.exec(String(call.headers['last-event-id'] ?? ''))?.[0];
      const after = lastSeen === undefined ? (call.query.after ?? 0) : Number(lastSeen);
      // 204 makes an EventSource stop reconnecting (WHATWG HTML, section 9.2.3).
      if (lastSeen !== undefined && isFeedOver(row) && after >= row.last_seq) return { status: 204 };
      const { caller } = call;
      const stream = {
        caller,
        executionId: row.id,
        after: Math.min(after, 2_147_483_647),
        signal: call.signal(),
      };
      return { status: 200, stream: streams.counted(caller, () => eventStream(deps, stream)) };
    },
  });
}

function callbacks(deps: Dependencies): Route {
  return attemptsRoute(deps, {
    path: `${ONE}/callbacks`,
    operationId: 'readTaskCallbacks',
    summary: 'List the newest 100 callback attempts of a run, oldest first',
    list: schema.callbackList,
    find: listCallbackAttempts,
    present: presentAttempt,
  });
}

function pushes(deps: Dependencies): Route {
  return attemptsRoute(deps, {
    path: `${ONE}/push-notifications`,
    operationId: 'readTaskPushNotifications',
    summary: 'List the newest 100 attempts of push notifications of a run, by configuration, oldest first',
    list: schema.pushList,
    find: listPushAttempts,
    present: presentPushAttempt,
  });
}

type AttemptsRoute<Row> = Pick<Route, 'path' | 'operationId' | 'summary'> & {
  list: z.ZodType;
  find: (database: Database, executionId: string) => Promise<Row[]>;
  present: (row: Row, signed: boolean) => unknown;
};

/** Lists the attempts of a run. Only callers who can change runs see the signatures. */
function attemptsRoute<Row>(
  deps: Dependencies,
  { list, find, present, ...operation }: AttemptsRoute<Row>,
): Route {
  return route({
    ...operation,
    method: 'get',
    tag,
    access: reads,
    params: schema.taskParams,
    responses: { 200: { description: 'The attempts', schema: list } },
    async handle({ caller, params }) {
      const row = await openRun(deps, caller, params.execution_id);
      const signed = caller.scopes.includes('tasks:write');
      const attempts = await find(deps.database, row.id);
      return { status: 200, body: { data: attempts.map((attempt) => present(attempt, signed)) } };
    },
  });
}

function callbackRetry(deps: Dependencies, { callbackRetries }: TaskLimits): Route {
  return route({
    method: 'post',
    path: `${ONE}/callback/retry`,
    operationId: 'retryTaskCallback',
    tag,
    summary: 'Retry a failed callback',
    description:
      'Makes one more attempt, which the list of attempts marks as `manual`. A failed attempt is not repeated. The callback is `pending` until the attempt has ended.',
    access: writes,
    params: schema.taskParams,
    responses: { 202: { description: 'Accepted; returns the current state', schema: schema.detail } },
    problems: ['invalid_state'],
    handle: async ({ caller, params }) =>
      await retryCallback(deps, caller, params.execution_id, callbackRetries),
  });
}

function erase(deps: Dependencies): Route {
  return route({
    method: 'delete',
    path: ONE,
    operationId: 'eraseTask',
    tag,
    summary: 'Erase the data of an ended run, in Baton and in Temporal',
    access: writes,
    params: schema.taskParams,
    responses: { 204: { description: 'Erased' } },
    problems: ['invalid_state', 'unavailable'],
    async handle({ caller, params }) {
      const row = await openRun(deps, caller, params.execution_id);
      if (!isTerminal(row.state))
        throw new Problem(
          'invalid_state',
          `The run is ${row.state}. Only a run that has ended can be erased.`,
        );
      if (!isFeedOver(row))
        throw new Problem('invalid_state', 'The callback of the run is still pending. Try again later.');
      await deps.control.deleteRun(row.id);
      const { workspaceId, actor } = caller;
      await eraseRun(deps.database, { id: row.id, workspaceId, actor, now: deps.clock() });
      return { status: 204 };
    },
  });
}
