import type { Definition } from './registry.ts';

/*
 * All metrics: name, type, help text, labels. Labels have few values: states, outcomes, kinds, path templates, names
 * in the catalogue of agents. Never an id of a run, an event or a webhook.
 */

/** From a fast response to a long poll. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** From a rehearsed step to an hour of work. */
const STEP_SECONDS = [0.05, 0.25, 1, 5, 15, 60, 300, 900, 1_800, 3_600];
const ATTEMPT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];
const LAG_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300];
const MODEL_SECONDS = [0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 300];

function counter(name: string, help: string, labels: readonly string[] = []): Definition {
  return { name, type: 'counter', help, labels };
}

function gauge(name: string, help: string, labels: readonly string[] = []): Definition {
  return { name, type: 'gauge', help, labels };
}

function seconds(
  name: string,
  help: string,
  buckets: readonly number[],
  labels: readonly string[] = [],
): Definition {
  return { name, type: 'histogram', help, labels, buckets };
}

export const METRICS = {
  buildInfo: gauge('baton_build_info', 'Always 1, with version information.', ['process', 'version', 'node']),
  databaseConnections: gauge(
    'baton_database_connections',
    'Connections of the pool and requests waiting for one.',
    ['state'],
  ),

  httpRequests: counter('baton_http_requests_total', 'Completed requests.', ['method', 'route', 'status']),
  httpSeconds: seconds(
    'baton_http_request_duration_seconds',
    'Time from the arrival of a request to the end of its response, including waiting and streaming responses.',
    REQUEST_SECONDS,
    ['method', 'route'],
  ),
  eventsReceived: counter(
    'baton_events_received_total',
    'Accepted events, by whether they were duplicates.',
    ['duplicate'],
  ),

  taskTransitions: counter('baton_task_transitions_total', 'State changes of runs, by new state.', ['state']),
  steps: counter('baton_steps_total', 'Ended step attempts.', ['agent', 'outcome']),
  stepSeconds: seconds('baton_step_duration_seconds', 'Duration of completed steps.', STEP_SECONDS, [
    'agent',
  ]),
  callbackAttempts: counter('baton_callback_attempts_total', 'Callback attempts.', ['outcome', 'failure']),
  callbackSeconds: seconds(
    'baton_callback_attempt_duration_seconds',
    'Duration of callback attempts.',
    ATTEMPT_SECONDS,
  ),
  modelCalls: counter('baton_model_calls_total', 'Model calls.', ['model', 'outcome']),
  modelSeconds: seconds('baton_model_call_duration_seconds', 'Duration of model calls.', MODEL_SECONDS, [
    'model',
  ]),
  modelTokens: counter('baton_model_tokens_total', 'Tokens of answered model calls.', ['model', 'direction']),
  modelCost: counter('baton_model_cost_usd_total', 'Cost of answered calls of models with a price.', [
    'model',
  ]),
  toolCalls: counter('baton_tool_calls_total', 'Tool calls by agents.', ['outcome']),

  reconcilerTurns: counter(
    'baton_reconciler_turns_total',
    'Reconciler turns, in the process that runs the reconciler.',
    ['outcome'],
  ),
  reconcilerActions: counter('baton_reconciler_actions_total', 'Repairs by the reconciler.', ['action']),

  deliveryAttempts: counter('baton_delivery_attempts_total', 'Delivery attempts.', [
    'trigger',
    'outcome',
    'failure',
  ]),
  deliverySeconds: seconds(
    'baton_delivery_attempt_duration_seconds',
    'Duration of delivery attempts, from the DNS lookup to the last byte.',
    ATTEMPT_SECONDS,
    ['outcome'],
  ),
  deliveryLag: seconds(
    'baton_delivery_lag_seconds',
    'Time from the acceptance of an event to its first attempt.',
    LAG_SECONDS,
  ),
  webhooksDisabled: counter('baton_webhooks_disabled_total', 'Webhooks disabled after repeated failures.'),

  tasks: gauge('baton_tasks', 'Runs that have not ended, by state.', ['state']),
  callbacksWaiting: gauge('baton_callbacks_waiting', 'Ended runs whose callback is pending.'),
  webhooks: gauge('baton_webhooks', 'Webhooks by status; failing: active, but the last attempt failed.', [
    'status',
  ]),
  deliveriesWaiting: gauge(
    'baton_deliveries_waiting',
    'Deliveries waiting for a first attempt, a retry or their webhook. At most 10,000 of each are counted per webhook.',
    ['status'],
  ),
  groupsWaiting: gauge('baton_event_groups_waiting', 'Event groups with pending first attempts.'),
  groupsOldest: gauge(
    'baton_event_groups_oldest_seconds',
    'Age of the oldest event group; 0 if there is none.',
  ),
  waitingForStart: gauge(
    'baton_waiting_for_start',
    'Accepted tasks and events that Temporal has not started yet.',
    ['kind'],
  ),
  waitingForStartOldest: gauge(
    'baton_waiting_for_start_oldest_seconds',
    'Age of the oldest accepted task or event that Temporal has not started yet; 0 if there is none.',
    ['kind'],
  ),
  storedAge: gauge('baton_stored_figures_age_seconds', 'Age of the statistics read from the database.'),

  channelConnections: gauge('baton_channel_connections', 'Connections to the live channel.'),
  channelRooms: gauge('baton_channel_rooms', 'Rooms with at least one connection.', ['kind']),
  channelSent: counter('baton_channel_events_sent_total', 'Events sent to clients, counted once per client.'),
  channelLag: gauge(
    'baton_channel_lag_seconds',
    'Time from writing an event to sending it, over the last 2,048 readings.',
    ['quantile'],
  ),
  channelDropped: counter('baton_channel_dropped_total', 'Connections refused or closed by the service.', [
    'code',
  ]),

  cpu: counter('process_cpu_seconds_total', 'User and system time of the process.'),
  memory: gauge('process_resident_memory_bytes', 'Resident memory.'),
  startTime: gauge('process_start_time_seconds', 'Start of the process, since 1970.'),
  heap: gauge('nodejs_heap_size_used_bytes', 'Used heap of the main thread.'),
  loopDelay: gauge('nodejs_eventloop_lag_seconds', 'Delay of the event loop since the last reading.', [
    'quantile',
  ]),
} as const satisfies Record<string, Definition>;
