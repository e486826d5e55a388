import { TaskState, type StreamResponse, type Task, type TaskStatus } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { setTimeout as wait } from 'node:timers/promises';
import { messageWith } from '../support/a2a-client.ts';
import type { PlannedTask, Seen, TaskCaller } from './protocol-tasks.ts';

/** How a caller follows its task: by polling, by new subscriptions, or by subscriptions after its last event. */
export type Following = 'polls' | 'subscribes' | 'resumes';

/** What one stream has sent: the positions of its updates, which are those after `after`. */
export type Streamed = { after: number; positions: number[] };

const POLL_MS = 300;
const ENDED: ReadonlySet<TaskState> = new Set([
  TaskState.TASK_STATE_COMPLETED,
  TaskState.TASK_STATE_FAILED,
  TaskState.TASK_STATE_CANCELED,
]);

/** Creates the caller of a task over A2A. It adds a record of each of its streams to `streams`. */
export function a2aCaller(
  client: Client,
  { mark, title, plan }: PlannedTask,
  following: Following,
  streams: Streamed[],
): TaskCaller {
  // `SendMessage` would wait for a task that ends only when its caller cancels it.
  const returnImmediately = plan.cancels === true;
  const metadata = { mark, rehearsal: plan.rehearsal };
  const submission = messageWith(title, { messageId: mark, metadata, returnImmediately });
  /** The rest of the stream of the submission. */
  let submitted: AsyncGenerator<StreamResponse> | null = null;

  /** Yields what a stream shows. `after`: the position that the caller has named; null: that of the task. */
  async function* seenIn(responses: AsyncIterable<StreamResponse>, after: number | null) {
    for await (const { payload } of responses) {
      if (payload?.$case === 'task') {
        streams.push({ after: after ?? Number(payload.value.metadata?.['lastSeq']), positions: [] });
        // The stream continues up to the update with the end.
        yield { ...seenOf(payload.value), isOver: false };
      } else if (payload?.$case === 'statusUpdate') {
        streams.at(-1)?.positions.push(Number(payload.value.metadata?.['seq']));
        yield seenOf(payload.value);
      }
    }
  }

  async function* subscribe(id: string): AsyncGenerator<Seen> {
    const last = streams.at(-1);
    const after = following === 'resumes' && last ? (last.positions.at(-1) ?? last.after) : null;
    const options = after === null ? {} : { serviceParameters: { 'Last-Event-ID': String(after) } };
    try {
      yield* seenIn(client.resubscribeTask({ tenant: '', id }, options), after);
    } catch (error) {
      // The task is over, and the caller has all its updates.
      if ((error as Error).name !== 'UnsupportedOperationError') throw error;
      yield seenOf(await client.getTask({ tenant: '', id }));
    }
  }

  async function* poll(id: string): AsyncGenerator<Seen> {
    for (; ; await wait(POLL_MS)) yield seenOf(await client.getTask({ tenant: '', id }));
  }

  async function* firstStream(stream: AsyncGenerator<StreamResponse>): AsyncGenerator<Seen> {
    submitted = null;
    yield* seenIn(stream, null);
  }

  return {
    async submit() {
      if (following === 'polls') return ((await client.sendMessage(submission)) as Task).id;
      const stream = client.sendMessageStream(submission);
      const first = (await stream.next()).value;
      if (first?.payload?.$case !== 'task') throw new Error('the stream does not begin with its task');
      submitted = startingWith(first, stream);
      return first.payload.value.id;
    },
    follow: (id) => (following === 'polls' ? poll(id) : submitted ? firstStream(submitted) : subscribe(id)),
    answer: (id, question, text) =>
      client.sendMessage(
        messageWith(text, { messageId: `${mark}-answer`, taskId: id, metadata: { question } }),
      ),
    cancel: (id) => client.cancelTask({ tenant: '', id, metadata: undefined }),
    isTemporary,
  };
}

async function* startingWith<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}

/** Returns what a task or an update shows. */
export function seenOf({ status }: { status: TaskStatus | undefined }): Seen {
  const { state = TaskState.UNRECOGNIZED, message } = status ?? {};
  const isAsking = state === TaskState.TASK_STATE_INPUT_REQUIRED;
  return { isOver: ENDED.has(state), question: isAsking ? String(message?.metadata?.['question']) : null };
}

/** Returns whether a request was refused for now. */
function isTemporary(error: Error): boolean {
  const { data = [], statusCode } = error as { data?: { reason?: string }[]; statusCode?: number };
  // The SDK's client over HTTP+JSON reports an error within a stream with the status of the stream.
  if (statusCode === 200 || statusCode === 503 || statusCode === 409) return true;
  // Over JSON-RPC, it reports these in messages: a response that is not of the protocol, and an error within a stream.
  if (/^HTTP error .*\b503\b|^SSE event contained an error: .*"UNAVAILABLE"/.test(error.message)) return true;
  return data.some(({ reason }) => reason === 'UNAVAILABLE' || reason === 'CONFLICT');
}
