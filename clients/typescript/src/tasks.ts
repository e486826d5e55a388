import type { ChannelDependencies } from './channel.ts';
import { followFeed, type FollowOptions } from './follow.ts';
import { pathOf, type Http, type Query } from './http.ts';
import { idempotent } from './idempotency.ts';
import { listing, type Listing } from './pages.ts';
import type {
  AgentCall,
  Artifact,
  CallbackAttempt,
  CallFilter,
  CallOptions,
  FeedEvent,
  IdempotentOptions,
  ListedTask,
  Task,
  TaskFilter,
  TaskRerun,
  TaskSubmission,
  TaskSubmitted,
} from './types.ts';
import { waitForTask, type WaitOptions } from './wait-for.ts';

type Steering = CallOptions & {
  /** For people to read. */
  reason?: string | undefined;
};

export type Tasks = ReturnType<typeof createTasks>;

/** Tasks: they are known by their `execution_id`. */
export function createTasks(http: Http, channel: ChannelDependencies) {
  const steer =
    (wish: 'pause' | 'continue' | 'cancel') =>
    (id: string, options: Steering = {}) => {
      const { reason, signal } = options;
      const body = reason === undefined ? {} : { body: { reason } };
      return http.json<Task>({ method: 'POST', path: pathOf('tasks', id, wish), ...body, signal });
    };
  const get = <T>(path: string, { signal }: CallOptions, query: Query = {}) =>
    http.json<T>({ method: 'GET', path, query, signal });

  return {
    /** Submits a task. The answer has its `callback_secret`, this once. */
    submit: (task: TaskSubmission, options: IdempotentOptions = {}) =>
      http.json<TaskSubmitted>({
        method: 'POST',
        path: pathOf('tasks'),
        body: task,
        ...idempotent(options),
      }),
    /** A task as it is now. */
    get: (id: string, options: CallOptions = {}) => get<Task>(pathOf('tasks', id), options),
    /** Tasks, newest first. */
    list({ metadata = {}, ...filter }: TaskFilter = {}, { signal }: CallOptions = {}): Listing<ListedTask> {
      const members = Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]);
      return listing(http, {
        path: pathOf('tasks'),
        query: { ...filter, ...Object.fromEntries(members) },
        signal,
      });
    },
    /** Nothing new starts; what is under way ends and is kept. */
    pause: steer('pause'),
    continue: steer('continue'),
    cancel: steer('cancel'),
    /** Runs an ended task again, from a step if one is named, as a task of its own. */
    rerun: (
      id: string,
      { fromStep, ...options }: IdempotentOptions & { fromStep?: string | undefined } = {},
    ) =>
      http.json<TaskRerun>({
        method: 'POST',
        path: pathOf('tasks', id, 'rerun'),
        body: fromStep === undefined ? {} : { from_step: fromStep },
        ...idempotent(options),
      }),
    /** What has happened behind the event `after`, oldest first. To go on from there, {@link Tasks.follow}. */
    events: async (id: string, { after, ...options }: CallOptions & { after?: number | undefined } = {}) =>
      (await get<{ data: FeedEvent[] }>(pathOf('tasks', id, 'events'), options, { after })).data,
    /** Every attempt to send the callback. */
    callbacks: async (id: string, options: CallOptions = {}) =>
      (await get<{ data: CallbackAttempt[] }>(pathOf('tasks', id, 'callbacks'), options)).data,
    /** Calls of models and tools. */
    calls: (id: string, filter: CallFilter = {}, { signal }: CallOptions = {}): Listing<AgentCall> =>
      listing(http, { path: pathOf('tasks', id, 'calls'), query: filter, signal }),
    /** The documents that the agents have left behind, without their content. */
    artifacts: async (id: string, options: CallOptions = {}) =>
      (await get<{ data: Artifact[] }>(pathOf('tasks', id, 'artifacts'), options)).data,
    /** The content of one of them. */
    async download(id: string, name: string, { signal }: CallOptions = {}): Promise<Blob> {
      const path = pathOf('tasks', id, 'artifacts', name);
      const { response, limit } = await http.open({
        method: 'GET',
        path,
        headers: { Accept: '*/*' },
        signal,
      });
      return await response.blob().finally(() => limit.release());
    },
    /** Removes what is stored of an ended task. */
    erase: (id: string, { signal }: CallOptions = {}) =>
      http.json<void>({ method: 'DELETE', path: pathOf('tasks', id), signal }),
    /**
     * Waits until a task has ended, or is as `until` says; answers it as it is then.
     * @throws BatonTimeout when `timeoutMs` are over, BatonProblem for a refusal
     */
    waitFor: (id: string, options: WaitOptions = {}) => waitForTask(http, id, options),
    /**
     * Every event behind `after` in order, once, to the last one: by the live channel, by server-sent events where
     * that is blocked, by asking where streams are. Lost connections are made anew from the last event.
     * @throws BatonProblem for a refusal, BatonUnreachable once the service has been away for `patienceMs`
     */
    follow: (id: string, options: FollowOptions = {}) => followFeed(http, channel, id, options),
  };
}
