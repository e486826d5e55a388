import type {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import {
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { createHash } from 'node:crypto';
import { CONTEXT_FIELD, headOf } from '../../agents/a2a-updates.ts';
import { listLastEventsOf } from '../../database/tasks/feed.ts';
import type { RunWithView } from '../../database/tasks/run-views.ts';
import type { TaskRunRow } from '../../database/tasks/task-runs.ts';
import { MAX_WAIT_SECONDS } from '../../domain/common/limits.ts';
import { UUID } from '../../domain/common/text.ts';
import { openQuestionOf } from '../../domain/tasks/run-state.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import { submission } from '../../domain/tasks/task-submission.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { requireCredential } from '../http/credential-watch.ts';
import { idOfClaim, type Idempotency } from '../http/idempotency.ts';
import { notFound, Problem } from '../http/problem.ts';
import type { Claim } from '../http/route.ts';
import { validated } from '../http/validation.ts';
import { applyAction } from '../tasks/actions.ts';
import { openRun, readRun } from '../tasks/read.ts';
import { continueRequest } from '../tasks/schema.ts';
import { submitTask } from '../tasks/submit.ts';
import type { TaskLimits } from '../tasks/task-limits.ts';
import { readWhenChanged } from '../tasks/wait.ts';
import { asProtocolError } from './errors.ts';
import { listTasks } from './list.ts';
import { A2A_PATH } from './card.ts';
import {
  checkedPush,
  readPushes,
  removePush,
  requirePlace,
  storePush,
  type CheckedPush,
} from './push-configs.ts';
import { answersIn } from './mapping.ts';
import { fullTask } from './read.ts';
import { taskStream } from './stream.ts';
import { answerOf, submissionOf } from './submission.ts';

export type A2aDependencies = Dependencies & { idempotency: Idempotency; limits: TaskLimits };

/** One request of an authenticated caller. `lastEventId`: the last event that a reconnecting client has. */
export type A2aCall = {
  caller: Caller;
  signal: AbortSignal;
  lastEventId: number | null;
  /** Called with the error of a method, which the SDK turns into one of its own. */
  onError(error: Error): void;
};

/** The last changes of a run, among which an earlier answer is searched. */
const SEARCHED_CHANGES = 100;

/** The two cards. */
export type Cards = { own: AgentCard; extended: AgentCard };

/**
 * Creates the SDK's request handler for one request. It calls the same functions as the HTTP API, and keeps nothing.
 * Its errors are the protocol's, or a Problem that the protocol has no error for.
 */
export function createRequestHandler(deps: A2aDependencies, call: A2aCall, cards: Cards): A2ARequestHandler {
  const { caller, signal } = call;

  async function send(request: SendMessageRequest): Promise<TaskRunRow> {
    const message = messageOf(request);
    const given = request.configuration?.taskPushNotificationConfig;
    const push = given ? checkedPush(deps, given, message.messageId) : null;
    const id = message.taskId === '' ? await submit(request, message, push) : await answer(message, push);
    return await openTask(id);
  }

  async function submit(
    request: SendMessageRequest,
    message: Message,
    push: CheckedPush | null,
  ): Promise<string> {
    const given = submissionOf({ message, metadata: request.metadata }, caller.projectId);
    return await doOnce(message, push ? [given, push] : given, async (claim) => {
      // Without a context of the client, the task is the first in its own.
      const context = message.contextId === '' ? idOfClaim(claim) : message.contextId;
      const whole = { ...given, metadata: { ...given.metadata, [CONTEXT_FIELD]: context } };
      const body = validated(submission, whole, 'body');
      const response = await submitTask(deps, caller, { body, text: JSON.stringify(whole), claim });
      const { execution_id: id } = response.body as { execution_id: string };
      if (push) await storePush(deps, id, push, 0);
      return id;
    });
  }

  async function answer(message: Message, push: CheckedPush | null): Promise<string> {
    const { taskId: id, contextId } = message;
    const row = await openTask(id);
    if (contextId !== '' && contextId !== headOf(row).contextId)
      throw new RequestMalformedError('The task belongs to another context.');
    const { reason, question } = validated(continueRequest, answerOf(message), 'body');
    if (push) await requirePlace(deps, id, push.id);
    const content = { id, reason, question, ...(push ? { push } : {}) };
    return await doOnce(message, content, async ({ takenAt }) => {
      const open = openQuestionOf(row);
      // An earlier request with this message may have taken effect, although its sender got no response.
      const isGiven = takenAt !== null && (await isAnswerGiven(row, question ?? null, reason));
      if (!isGiven) {
        if (open === null) throw new UnsupportedOperationError(noAnswer(row));
        const request = { id, action: 'continue' as const, reason, question: question ?? open };
        await applyAction(deps, caller, request, deps.limits.pauses);
      }
      if (push) await storePush(deps, id, push, row.last_seq);
      return id;
    });
  }

  /** Returns whether this caller has given this answer: to the question, or to the last one if none is named. */
  async function isAnswerGiven(
    { id, last_seq }: TaskRunRow,
    question: string | null,
    reason: string | undefined,
  ): Promise<boolean> {
    const wanted = { types: ['state.changed'], last: last_seq, limit: SEARCHED_CHANGES } as const;
    const answers = answersIn(await listLastEventsOf(deps.database, id, wanted));
    const last = answers.findLast((given) => question === null || given.question === question);
    return last?.by === caller.label && last.reason === reason;
  }

  /** Does the work of a message once, however often the message with this id is sent. Returns the id of its task. */
  async function doOnce(
    { messageId }: Message,
    content: unknown,
    work: (claim: Claim) => Promise<string>,
  ): Promise<string> {
    const given = `a2a:${createHash('sha256').update(messageId).digest('hex')}`;
    const wanted = { given, method: 'POST', path: A2A_PATH, body: content, caller };
    const response = await deps.idempotency(wanted, async (claim) => ({
      status: 200,
      body: { id: await work(claim) },
    }));
    return (response.body as { id: string }).id;
  }

  async function openTask(id: string): Promise<TaskRunRow> {
    if (!UUID.test(id)) throw notFound('task');
    return await openRun(deps, caller, id);
  }

  function follow(row: TaskRunRow, historyLength: number | undefined, after: number | null) {
    return taskStream(deps, { caller, row, after, historyLength, signal });
  }

  async function inProtocol<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const protocolError = asProtocolError(error);
      call.onError(protocolError as Error);
      throw protocolError;
    }
  }

  async function pushOf(taskId: string, id: string): Promise<TaskPushNotificationConfig> {
    const found = (await readPushes(deps, taskId)).find((config) => config.id === id);
    if (!found) throw new TaskNotFoundError('The push notification configuration does not exist.');
    return found;
  }

  return {
    getAgentCard: () => Promise.resolve(cards.own),
    getAuthenticatedExtendedAgentCard: () => Promise.resolve(cards.extended),

    sendMessage: (request: SendMessageRequest): Promise<Task> =>
      inProtocol(async () => {
        const { returnImmediately = false, historyLength } = request.configuration ?? {};
        const sent = async () => await readRun(deps, await send(request));
        const wait = async () => await waitUntilResting(deps, await sent(), signal);
        const reading = returnImmediately ? await sent() : await deps.limits.waits.counted(caller, wait);
        if (!returnImmediately) await requireCredential(deps, caller);
        return await fullTask(deps, reading, historyLength);
      }),

    sendMessageStream: (request: SendMessageRequest): AsyncGenerator<StreamResponse, void, undefined> =>
      inStream(async () => follow(await send(request), request.configuration?.historyLength, null)),

    getTask: ({ id, historyLength }: GetTaskRequest): Promise<Task> =>
      inProtocol(async () => await fullTask(deps, await readRun(deps, await openTask(id)), historyLength)),

    listTasks: (request: ListTasksRequest): Promise<ListTasksResponse> =>
      inProtocol(async () => await listTasks(deps, caller, request)),

    cancelTask: ({ id }: CancelTaskRequest): Promise<Task> =>
      inProtocol(async () => {
        await openTask(id);
        await applyAction(
          deps,
          caller,
          { id, action: 'cancel', reason: undefined },
          deps.limits.pauses,
        ).catch((error: unknown) => {
          if (!(error instanceof Problem && error.code === 'invalid_state')) throw error;
          throw new TaskNotCancelableError(error.message);
        });
        return await fullTask(deps, await readRun(deps, await openTask(id)), undefined);
      }),

    resubscribe: ({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> =>
      inStream(async () => {
        const row = await openTask(id);
        const isOver = isTerminal(row.state) && (call.lastEventId ?? row.view_seq) >= row.view_seq;
        if (isOver) throw new UnsupportedOperationError(`The task is ${row.state}. Read it instead.`);
        return follow(row, undefined, call.lastEventId);
      }),

    createTaskPushNotificationConfig: (
      config: TaskPushNotificationConfig,
    ): Promise<TaskPushNotificationConfig> =>
      inProtocol(async () => {
        const { id: taskId } = await openTask(config.taskId);
        const push = checkedPush(deps, config, null);
        await storePush(deps, taskId, push, null);
        return await pushOf(taskId, push.id);
      }),

    getTaskPushNotificationConfig: ({
      taskId,
      id,
    }: GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> =>
      inProtocol(async () => await pushOf((await openTask(taskId)).id, id)),

    listTaskPushNotificationConfigs: ({
      taskId,
    }: ListTaskPushNotificationConfigsRequest): Promise<ListTaskPushNotificationConfigsResponse> =>
      inProtocol(async () => ({
        configs: await readPushes(deps, (await openTask(taskId)).id),
        nextPageToken: '',
      })),

    deleteTaskPushNotificationConfig: ({
      taskId,
      id,
    }: DeleteTaskPushNotificationConfigRequest): Promise<void> =>
      inProtocol(async () => await removePush(deps, (await openTask(taskId)).id, id)),
  };
}

function messageOf({ message }: SendMessageRequest): Message {
  if (!message) throw new RequestMalformedError('`message` is required.');
  return message;
}

function noAnswer({ state }: TaskRunRow): string {
  return `The task is ${state} and does not wait for an answer. Send a message without a task id for a new task.`;
}

/** Returns the run once it has ended or asks, the time is over or the caller is gone. */
async function waitUntilResting(
  deps: Dependencies,
  first: RunWithView,
  signal: AbortSignal,
): Promise<RunWithView> {
  const until = performance.now() + MAX_WAIT_SECONDS * 1_000;
  let reading = first;
  const isOver = () => performance.now() >= until || signal.aborted;
  while (!isTerminal(reading.view.state) && reading.view.question === null && !isOver()) {
    const seconds = (until - performance.now()) / 1_000;
    const later = await readWhenChanged(deps, reading, { seconds, signal });
    // The run was erased.
    if (later === reading) break;
    reading = later;
  }
  return reading;
}

async function* inStream(
  open: () => Promise<AsyncGenerator<StreamResponse>>,
): AsyncGenerator<StreamResponse, void, undefined> {
  try {
    yield* await open();
  } catch (error) {
    throw asProtocolError(error);
  }
}
