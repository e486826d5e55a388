import type { Definition } from './registry.ts';

/*
 * Every metric of ours, said once: name, kind, what it tells, what tells its cells apart. Labels take few values: states,
 * outcomes, kinds, templates of routes, names out of the catalogue of agents. Never an id of a run, an event or a webhook.
 */

/** From a fast answer to a long-polling one. */
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
  buildInfo: gauge('baton_build_info', 'Always 1; what runs here.', ['process', 'version', 'node']),
  databaseConnections: gauge(
    'baton_database_connections',
    'Connections of the pool, and who waits for one.',
    ['state'],
  ),

  httpRequests: counter('baton_http_requests_total', 'Answered requests.', ['method', 'route', 'status']),
  httpSeconds: seconds(
    'baton_http_request_duration_seconds',
    'From the arrival of a request to the end of its answer; waiting and streaming answers included.',
    REQUEST_SECONDS,
    ['method', 'route'],
  ),
  eventsReceived: counter(
    'baton_events_received_total',
    'Events taken in, and those that were there already.',
    ['duplicate'],
  ),

  taskTransitions: counter('baton_task_transitions_total', 'Changes of state of runs, by the new state.', [
    'state',
  ]),
  steps: counter('baton_steps_total', 'Attempts of steps that have ended.', ['agent', 'outcome']),
  stepSeconds: seconds('baton_step_duration_seconds', 'Of completed steps.', STEP_SECONDS, ['agent']),
  callbackAttempts: counter('baton_callback_attempts_total', 'Attempts to deliver results of runs.', [
    'outcome',
    'failure',
  ]),
  callbackSeconds: seconds(
    'baton_callback_attempt_duration_seconds',
    'Of attempts to deliver results of runs.',
    ATTEMPT_SECONDS,
  ),
  modelCalls: counter('baton_model_calls_total', 'Calls of models.', ['model', 'outcome']),
  modelSeconds: seconds('baton_model_call_duration_seconds', 'Of calls of models.', MODEL_SECONDS, ['model']),
  modelTokens: counter('baton_model_tokens_total', 'Tokens of answered calls.', ['model', 'direction']),
  modelCost: counter('baton_model_cost_usd_total', 'Cost of answered calls, of models with a price.', [
    'model',
  ]),
  toolCalls: counter('baton_tool_calls_total', 'Calls of tools by agents.', ['outcome']),

  reconcilerTurns: counter(
    'baton_reconciler_turns_total',
    'Turns of the reconciler, in the one process that has it.',
    ['outcome'],
  ),
  reconcilerActions: counter('baton_reconciler_actions_total', 'What the reconciler took up or put right.', [
    'action',
  ]),

  deliveryAttempts: counter('baton_delivery_attempts_total', 'Attempts of webhook deliveries.', [
    'trigger',
    'outcome',
    'failure',
  ]),
  deliverySeconds: seconds(
    'baton_delivery_attempt_duration_seconds',
    'Of attempts of webhook deliveries, from the look-up to the last byte.',
    ATTEMPT_SECONDS,
    ['outcome'],
  ),
  deliveryLag: seconds(
    'baton_delivery_lag_seconds',
    'From the acceptance of an event to its first attempt.',
    LAG_SECONDS,
  ),
  webhooksDisabled: counter('baton_webhooks_disabled_total', 'Webhooks disabled after too many failures.'),

  tasks: gauge('baton_tasks', 'Runs that have not ended, by state.', ['state']),
  callbacksWaiting: gauge('baton_callbacks_waiting', 'Ended runs whose result is still to be delivered.'),
  webhooks: gauge('baton_webhooks', 'Webhooks by status; failing: active, and the last attempt failed.', [
    'status',
  ]),
  deliveriesWaiting: gauge(
    'baton_deliveries_waiting',
    'Deliveries that wait: for a first attempt, for a retry, for their webhook. At most 10,000 of each are counted for one webhook.',
    ['status'],
  ),
  groupsWaiting: gauge(
    'baton_event_groups_waiting',
    'Groups of events with first attempts still to be made.',
  ),
  groupsOldest: gauge(
    'baton_event_groups_oldest_seconds',
    'Age of the oldest of them; 0 where there is none.',
  ),
  storedAge: gauge('baton_stored_figures_age_seconds', 'How long ago the figures of the database were read.'),

  channelConnections: gauge('baton_channel_connections', 'Connections to the live channel.'),
  channelRooms: gauge('baton_channel_rooms', 'Rooms that somebody is in.', ['kind']),
  channelSent: counter('baton_channel_events_sent_total', 'Events handed to clients, one for each client.'),
  channelLag: gauge(
    'baton_channel_lag_seconds',
    'From the write of an event to its hand-over, over the last 2,048 readings.',
    ['quantile'],
  ),
  channelDropped: counter('baton_channel_dropped_total', 'Connections refused or ended by the service.', [
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
