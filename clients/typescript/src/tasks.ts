import type { ChannelDependencies } from './channel.ts';
import { followFeed, type FollowOptions } from './follow.ts';
import { pathOf, type Http, type Query } from './http.ts';
import { idempotent } from './idempotency.ts';
import { createListing, type Listing } from './pages.ts';
import type {
  AgentCall,
  Artifact,
  CallbackAttempt,
  CallFilter,
  CallOptions,
  FeedEvent,
  IdempotentOptions,
  ListedTask,
  RerunOptions,
  Task,
  TaskFilter,
  TaskRerun,
  TaskSubmission,
  TaskSubmitted,
} from './types.ts';
import { waitForTask, type WaitOptions } from './wait-for.ts';

type ControlOptions = CallOptions & {
  /** A reason for people to read. */
  reason?: string | undefined;
};
type ContinueOptions = ControlOptions & {
  /** The id of the question that this answers. Needed if the run has asked more than one. */
  question?: string | undefined;
};

export type Tasks = ReturnType<typeof createTasks>;

/** Creates the methods for tasks. An `id` is the `execution_id` of a task. */
export function createTasks(http: Http, channel: ChannelDependencies) {
  const control = (
    action: 'pause' | 'continue' | 'cancel',
    id: string,
    { signal, ...body }: ContinueOptions,
  ) => http.json<Task>({ method: 'POST', path: pathOf('tasks', id, action), body, signal });
  const get = <T>(path: string, { signal }: CallOptions, query: Query = {}) =>
    http.json<T>({ method: 'GET', path, query, signal });

  return {
    /** Submits a task. Only this response contains the `callback_secret`. */
    submit: (task: TaskSubmission, options: IdempotentOptions = {}) =>
      http.json<TaskSubmitted>({
        method: 'POST',
        path: pathOf('tasks'),
        body: task,
        ...idempotent(options),
      }),
    /** Returns the current state of a task. */
    get: (id: string, options: CallOptions = {}) => get<Task>(pathOf('tasks', id), options),
    /** Lists tasks, newest first. */
    list({ metadata = {}, ...filter }: TaskFilter = {}, { signal }: CallOptions = {}): Listing<ListedTask> {
      const metadataFields = Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]);
      return createListing(http, {
        path: pathOf('tasks'),
        query: { ...filter, ...Object.fromEntries(metadataFields) },
        signal,
      });
    },
    /** Pauses a run. No new work starts. Work in progress finishes, and its results are kept. */
    pause: (id: string, options: ControlOptions = {}) => control('pause', id, options),
    /** Continues a paused run. If an agent waits for an answer, `reason` is the answer. */
    continue: (id: string, options: ContinueOptions = {}) => control('continue', id, options),
    /** Cancels a run. */
    cancel: (id: string, options: ControlOptions = {}) => control('cancel', id, options),
    /**
     * Reruns an ended task as a new task, from the step `fromStep` if it is given. For an escalated task, `answer` tells
     * the agent of the step that escalated what to do.
     */
    rerun: (id: string, { fromStep, answer, ...options }: RerunOptions = {}) =>
      http.json<TaskRerun>({
        method: 'POST',
        path: pathOf('tasks', id, 'rerun'),
        body: {
          ...(fromStep === undefined ? {} : { from_step: fromStep }),
          ...(answer === undefined ? {} : { answer }),
        },
        ...idempotent(options),
      }),
    /**
     * Returns the existing events after the `seq` in `after`, oldest first. To also receive new events, use
     * {@link Tasks.follow}.
     */
    events: async (id: string, { after, ...options }: CallOptions & { after?: number | undefined } = {}) =>
      (await get<{ data: FeedEvent[] }>(pathOf('tasks', id, 'events'), options, { after })).data,
    /** Returns all attempts to send the callback. */
    callbacks: async (id: string, options: CallOptions = {}) =>
      (await get<{ data: CallbackAttempt[] }>(pathOf('tasks', id, 'callbacks'), options)).data,
    /** Makes one more attempt to send a failed callback, which is `pending` until the attempt has ended. */
    retryCallback: (id: string, { signal }: CallOptions = {}) =>
      http.json<Task>({ method: 'POST', path: pathOf('tasks', id, 'callback', 'retry'), signal }),
    /** Lists the calls of models and tools. */
    calls: (id: string, filter: CallFilter = {}, { signal }: CallOptions = {}): Listing<AgentCall> =>
      createListing(http, { path: pathOf('tasks', id, 'calls'), query: filter, signal }),
    /** Returns the documents that the agents created, without their content. */
    artifacts: async (id: string, options: CallOptions = {}) =>
      (await get<{ data: Artifact[] }>(pathOf('tasks', id, 'artifacts'), options)).data,
    /** Returns the content of an artifact. */
    async download(id: string, name: string, { signal }: CallOptions = {}): Promise<Blob> {
      const path = pathOf('tasks', id, 'artifacts', name);
      const { response, timeout } = await http.open({
        method: 'GET',
        path,
        headers: { Accept: '*/*' },
        signal,
      });
      return await response.blob().finally(() => timeout.release());
    },
    /** Deletes the stored data of an ended task, in Baton and in Temporal. */
    erase: (id: string, { signal }: CallOptions = {}) =>
      http.json<void>({ method: 'DELETE', path: pathOf('tasks', id), signal }),
    /**
     * Waits until a task has ended, or until it meets the condition `until`. Returns the task at that time.
     * @throws BatonTimeout after `timeoutMs`, or if the task has ended and cannot reach the awaited state
     * @throws BatonProblem if the service rejects the request
     * @throws BatonUnreachable if the service has been unreachable for `patienceMs`
     */
    waitFor: (id: string, options: WaitOptions = {}) => waitForTask(http, id, options),
    /**
     * Yields every event after the `seq` in `after`, in order and once, to the last one. Uses the live channel.
     * Falls back to server-sent events if the channel is blocked, and to polling if streams are blocked. After a
     * lost connection it reconnects and continues after the last event.
     * @throws BatonProblem if the service rejects the request
     * @throws BatonUnreachable if the service has been unreachable for `patienceMs`
     */
    follow: (id: string, options: FollowOptions = {}) => followFeed(http, channel, id, options),
  };
}
