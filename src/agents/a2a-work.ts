import { setTimeout as wait } from 'node:timers/promises';
import {
  Role,
  TaskState,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
  type TaskStatus,
} from '@a2a-js/sdk';
import {
  isOverTokens,
  overTokens,
  reportedUsage,
  type AgentListener,
  type AgentEnd,
  type RemoteTask,
  type ReportedUsage,
} from './agent-end.ts';
import type { RemoteClient } from './a2a-client.ts';

/** A message to a remote agent, for a new task or for an existing one. */
export type RemoteMessage = {
  id: string;
  text: string;
  metadata: Record<string, unknown>;
  task: RemoteTask | null;
};

type Work = {
  /** Null: no message is sent, and the existing task is followed. */
  message: RemoteMessage | null;
  task: RemoteTask | null;
  tokens: number | null;
  /** Called after `signal` aborted the work: returns whether to cancel the task. */
  isGivenUp(): boolean;
  listener: AgentListener & { task(task: RemoteTask): void };
  /** Time without an event after which a stream counts as broken off, in milliseconds. */
  idleMs?: number;
};

/** The known state of a task. */
type TaskProgress = {
  task: RemoteTask | null;
  status: TaskStatus | null;
  artifacts: Map<string, string>;
  /** A response that is a message instead of a task. */
  reply: string | null;
  reported: Set<string>;
  usage: ReportedUsage | null;
};

/**
 * A connection that was lost without an error is silent, and so is an agent that works for long. Polling serves both: a
 * stream that is silent for this time, in milliseconds, counts as broken off.
 */
const STREAM_IDLE_MS = 60_000;
const FIRST_POLL_MS = 500;
const LONGEST_POLL_MS = 5_000;
/** Consecutive polls that may fail. */
const MAX_FAILED_POLLS = 10;
const CANCEL_MS = 5_000;
/** Length of the id of a task or context, in characters. Temporal could not store longer ones. */
const MAX_ID_LENGTH = 1_000;
/** States in which the task waits for its client. */
const INTERRUPTED = new Set([TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED]);
/** States in which the task does not continue by itself. */
const RESTING = new Set([
  TaskState.TASK_STATE_COMPLETED,
  TaskState.TASK_STATE_FAILED,
  TaskState.TASK_STATE_CANCELED,
  TaskState.TASK_STATE_REJECTED,
  ...INTERRUPTED,
]);

/**
 * Runs a step by a remote agent and follows its task to the end: by its stream, and by polling if there is no stream, or
 * it broke off or is silent. If `signal` aborts the work permanently, the task is cancelled.
 * @throws the signal's reason, or an Error with the reason if the agent did not respond
 */
export async function workByRemote(
  { client, card }: RemoteClient,
  work: Work,
  signal: AbortSignal,
): Promise<AgentEnd> {
  const progress: TaskProgress = {
    task: work.task,
    status: null,
    artifacts: new Map(),
    reply: null,
    reported: new Set(),
    usage: null,
  };
  const isStreaming = card.capabilities?.streaming === true;
  const onResponse = (response: StreamResponse) => {
    applyResponse(progress, response, work.listener);
    if (progress.task) work.listener.task(progress.task);
  };
  try {
    if (work.message) {
      const { message, idleMs = STREAM_IDLE_MS } = work;
      if (isStreaming) await follow(client, message, idleMs, onResponse, progress, signal);
      else await send(client, message, onResponse, signal);
    }
    if (!isAtRest(progress)) await poll(client, progress, onResponse, work.tokens, signal);
    return isOverTokens(progress.usage, work.tokens)
      ? overTokens(work.tokens, progress.usage)
      : endOf(progress);
  } finally {
    const isOver = signal.aborted ? work.isGivenUp() : isOverTokens(progress.usage, work.tokens);
    if (isOver && progress.task) await cancelTask(client, progress.task);
  }
}

async function send(
  client: RemoteClient['client'],
  message: RemoteMessage,
  onResponse: (response: StreamResponse) => void,
  signal: AbortSignal,
): Promise<void> {
  const answer = await client.sendMessage(requestOf(message), { signal });
  onResponse({
    payload: 'status' in answer ? { $case: 'task', value: answer } : { $case: 'message', value: answer },
  });
}

/** Sends a message and follows the stream of its task, until the stream ends, breaks off or is silent. */
async function follow(
  client: RemoteClient['client'],
  message: RemoteMessage,
  idleMs: number,
  onResponse: (response: StreamResponse) => void,
  progress: TaskProgress,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const request = { signal: AbortSignal.any([signal, over.signal]) };
  const responses = client.sendMessageStream(requestOf(message), request)[Symbol.asyncIterator]();
  try {
    for (;;) {
      // Without a task, there is nothing to poll, and the agent may still be writing its reply.
      const next = await nextOf(responses, progress.task === null ? null : idleMs);
      if (next.done) return;
      onResponse(next.value);
      // Only an end state closes a stream (A2A 1.0, section 3.1.2).
      if (isInterrupted(progress)) return;
    }
  } catch (error) {
    signal.throwIfAborted();
    // From here on, polling follows the started task.
    if (progress.task === null) throw error;
  } finally {
    over.abort();
    void responses.return?.(undefined).catch(() => {});
  }
}

/**
 * Returns the next element.
 * @throws if there is none within `idleMs`; null: no limit
 */
async function nextOf<T>(elements: AsyncIterator<T>, idleMs: number | null): Promise<IteratorResult<T>> {
  const next = elements.next();
  if (idleMs === null) return await next;
  const timer = new AbortController();
  const silence = wait(idleMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`the stream was silent for ${idleMs} ms`);
  });
  try {
    return await Promise.race([next, silence]);
  } finally {
    timer.abort();
  }
}

async function poll(
  client: RemoteClient['client'],
  progress: TaskProgress,
  onResponse: (response: StreamResponse) => void,
  tokens: number | null,
  signal: AbortSignal,
): Promise<void> {
  const { task } = progress;
  if (task === null) throw new Error('the agent returned neither a task nor a message');
  let failed = 0;
  for (let pause = 0; !isAtRest(progress) && !isOverTokens(progress.usage, tokens); ) {
    await wait(pause, undefined, { signal });
    pause = Math.min(Math.max(FIRST_POLL_MS, pause * 1.5), LONGEST_POLL_MS);
    try {
      const value = await client.getTask({ tenant: '', id: task.id }, { signal });
      onResponse({ payload: { $case: 'task', value } });
      failed = 0;
    } catch (error) {
      signal.throwIfAborted();
      failed += 1;
      if (failed > MAX_FAILED_POLLS) throw error;
    }
  }
}

/** Applies a response to the known state and reports what is new. */
function applyResponse(progress: TaskProgress, { payload }: StreamResponse, listener: AgentListener): void {
  switch (payload?.$case) {
    case 'message':
      progress.reply = textOf(payload.value.parts);
      progress.usage = reportedUsage(payload.value.metadata?.['usage']) ?? progress.usage;
      return;
    case 'task':
      return applyTask(progress, payload.value, listener);
    case 'statusUpdate': {
      const { taskId, contextId, status, metadata } = payload.value;
      progress.task = referenceTo(taskId, contextId);
      progress.usage = reportedUsage(metadata?.['usage']) ?? progress.usage;
      return applyStatus(progress, status, listener);
    }
    case 'artifactUpdate': {
      const { artifact, append } = payload.value;
      if (!artifact) return;
      const before = append ? (progress.artifacts.get(artifact.artifactId) ?? '') : '';
      progress.artifacts.set(artifact.artifactId, before + textOf(artifact.parts));
      return;
    }
    case undefined:
      return;
  }
}

function applyTask(
  progress: TaskProgress,
  { id, contextId, status, artifacts, metadata }: Task,
  listener: AgentListener,
): void {
  progress.task = referenceTo(id, contextId);
  progress.usage = reportedUsage(metadata?.['usage']) ?? progress.usage;
  for (const { artifactId, parts } of artifacts) progress.artifacts.set(artifactId, textOf(parts));
  applyStatus(progress, status, listener);
}

function referenceTo(id: string, contextId: string): RemoteTask {
  if (Math.max(id.length, contextId.length) <= MAX_ID_LENGTH) return { id, contextId };
  throw new Error(`the agent sent an id of more than ${MAX_ID_LENGTH} characters`);
}

function applyStatus(progress: TaskProgress, status: TaskStatus | undefined, listener: AgentListener): void {
  if (!status) return;
  progress.status = status;
  const { message, state } = status;
  if (!message || state !== TaskState.TASK_STATE_WORKING || progress.reported.has(message.messageId)) return;
  progress.reported.add(message.messageId);
  const percent = message.metadata?.['percent'];
  const text = textOf(message.parts);
  if (typeof percent === 'number' && percent >= 0 && percent <= 100)
    listener.progress(Math.floor(percent), text);
  else if (text !== '') listener.message(text);
}

function isInterrupted({ status }: TaskProgress): boolean {
  return status !== null && INTERRUPTED.has(status.state);
}

function isAtRest({ reply, status }: TaskProgress): boolean {
  return reply !== null || (status !== null && RESTING.has(status.state));
}

function endOf({ reply, status, artifacts, task, usage }: TaskProgress): AgentEnd {
  if (reply !== null) return { kind: 'completed', text: reply, usage };
  const statusText = status?.message ? textOf(status.message.parts) : '';
  switch (status?.state) {
    case TaskState.TASK_STATE_COMPLETED: {
      const made = [...artifacts.values()].filter((text) => text !== '').join('\n\n');
      return { kind: 'completed', text: made === '' ? statusText : made, usage };
    }
    case TaskState.TASK_STATE_INPUT_REQUIRED:
      return task
        ? { kind: 'asks', text: statusText || 'The agent asks how to continue.', task, usage }
        : { kind: 'escalated', reason: statusText, usage };
    case TaskState.TASK_STATE_AUTH_REQUIRED:
      return { kind: 'escalated', reason: statusText || 'The agent asks for credentials.', usage };
    case TaskState.TASK_STATE_REJECTED:
      return {
        kind: 'unrecoverable',
        message: `the agent refused the work${statusText && `: ${statusText}`}`,
        usage,
      };
    case TaskState.TASK_STATE_CANCELED:
      return { kind: 'failed', message: 'the agent cancelled its task', usage };
    default:
      return { kind: 'failed', message: statusText || 'the agent failed without a message', usage };
  }
}

function requestOf({ id, text, metadata, task }: RemoteMessage) {
  const part: Part = {
    content: { $case: 'text', value: text },
    metadata: undefined,
    filename: '',
    mediaType: 'text/plain',
  };
  const message: Message = {
    messageId: id,
    contextId: task?.contextId ?? '',
    taskId: task?.id ?? '',
    role: Role.ROLE_USER,
    parts: [part],
    metadata,
    extensions: [],
    referenceTaskIds: [],
  };
  const configuration = {
    acceptedOutputModes: ['text/plain', 'text/markdown', 'application/json'],
    taskPushNotificationConfig: undefined,
    returnImmediately: true,
  };
  return { tenant: '', message, configuration, metadata: undefined };
}

function textOf(parts: readonly Part[]): string {
  return parts
    .map(({ content, filename, mediaType }) => {
      switch (content?.$case) {
        case 'text':
          return content.value;
        case 'data':
          return JSON.stringify(content.value);
        case 'url':
          return `[${filename || 'file'} ${content.value}]`;
        case 'raw':
          return `[${filename || 'file'} ${mediaType}, ${content.value.length} bytes: omitted]`;
        default:
          return '';
      }
    })
    .join('');
}

/** Asks the agent to cancel its task. Whether it stops is up to the agent. */
export async function cancelTask(client: RemoteClient['client'], task: RemoteTask): Promise<void> {
  const signal = AbortSignal.timeout(CANCEL_MS);
  await client.cancelTask({ tenant: '', id: task.id, metadata: undefined }, { signal }).catch(() => {});
}
