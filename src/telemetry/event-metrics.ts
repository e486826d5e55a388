import { METRICS } from './metrics.ts';
import type { Registry } from './registry.ts';

/*
 * Metrics of events in the service. Each function is for the processes that do that work. Series that are known in
 * advance start at 0, so that the first event counts as a change.
 */

/** A completed request; `route` is the path template, null if no route matched. */
export type AnsweredRequest = { method: string; route: string | null; status: number; seconds: number };

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Creates the metrics of a process with the API. */
export function createRequestMetrics(registry: Registry) {
  const requests = registry.family(METRICS.httpRequests);
  const seconds = registry.histogram(METRICS.httpSeconds);
  const events = registry.family(METRICS.eventsReceived);
  const fresh = events.of('false');
  const duplicates = events.of('true');
  return {
    onRequest(request: AnsweredRequest): void {
      // Clients can invent methods and paths; neither may fill the memory.
      const method = METHODS.has(request.method) ? request.method : 'other';
      const route = request.route ?? 'none';
      requests.of(method, route, String(request.status)).inc();
      seconds.observe(request.seconds, method, route);
    },
    onEvents({ sent, duplicate }: { sent: number; duplicate: number }): void {
      fresh.inc(sent - duplicate);
      duplicates.inc(duplicate);
    },
  };
}

/** Recorded events of a run, in the shape of the feed. */
type Written = { entries: readonly { type: string; data: Record<string, unknown> }[] };

/** Creates the metrics of a process with a run worker. `states` are all states of runs. */
export function createRunMetrics(registry: Registry, states: readonly string[]) {
  const transitions = registry.family(METRICS.taskTransitions);
  const steps = registry.family(METRICS.steps);
  const seconds = registry.histogram(METRICS.stepSeconds);
  for (const state of states) transitions.of(state);
  return {
    onRecorded({ entries }: Written): void {
      for (const { type, data } of entries) {
        if (type === 'state.changed') transitions.of(String(data['to'])).inc();
        if (type !== 'step.completed' && type !== 'step.failed') continue;
        const { agent = '' } = (data['step'] ?? {}) as { agent?: string };
        steps.of(agent, type === 'step.completed' ? 'completed' : 'failed').inc();
        if (type === 'step.completed') seconds.observe(Number(data['duration_ms'] ?? 0) / 1_000, agent);
      }
    },
  };
}

/** A finished outgoing attempt. */
type EndedAttempt = { outcome: 'succeeded' | 'failed'; failure: string | null; duration_ms: number };

/** Creates the callback metrics of a process with a run worker. */
export function createCallbackMetrics(registry: Registry) {
  const attempts = registry.family(METRICS.callbackAttempts);
  const seconds = registry.histogram(METRICS.callbackSeconds);
  attempts.of('succeeded', 'none');
  attempts.of('failed', 'status');
  return {
    onCallbackAttempt({ outcome, failure, duration_ms: ms }: EndedAttempt): void {
      attempts.of(outcome, failure ?? 'none').inc();
      seconds.observe(ms / 1_000);
    },
  };
}

/** A finished model call; `usage` is null if it failed. */
export type EndedModelCall = {
  model: string;
  usage: { input_tokens: number; output_tokens: number; cost_usd?: number } | null;
  duration_ms: number;
};

/** Creates the agent metrics of a task worker. Models are those of the catalogue. */
export function createAgentMetrics(registry: Registry) {
  const calls = registry.family(METRICS.modelCalls);
  const seconds = registry.histogram(METRICS.modelSeconds);
  const tokens = registry.family(METRICS.modelTokens);
  const cost = registry.family(METRICS.modelCost);
  const tools = registry.family(METRICS.toolCalls);
  tools.of('answered');
  tools.of('failed');
  return {
    onModelCall({ model, usage, duration_ms: ms }: EndedModelCall): void {
      const [answered, failed] = [calls.of(model, 'answered'), calls.of(model, 'failed')];
      (usage ? answered : failed).inc();
      seconds.observe(ms / 1_000, model);
      if (!usage) return;
      tokens.of(model, 'input').inc(usage.input_tokens);
      tokens.of(model, 'output').inc(usage.output_tokens);
      if (usage.cost_usd !== undefined) cost.of(model).inc(usage.cost_usd);
    },
    onToolCall({ failed }: { failed: boolean }): void {
      tools.of(failed ? 'failed' : 'answered').inc();
    },
  };
}

/** Creates the reconciler metrics of a task worker. `actions` are all kinds of actions. */
export function createReconcilerMetrics(registry: Registry, actions: readonly string[]) {
  const turns = registry.family(METRICS.reconcilerTurns);
  const done = registry.family(METRICS.reconcilerActions);
  turns.of('done');
  turns.of('failed');
  for (const action of actions) done.of(action);
  return {
    onTurn(outcome: 'done' | 'failed'): void {
      turns.of(outcome).inc();
    },
    onAction(action: string): void {
      done.of(action).inc();
    },
  };
}

/** A recorded attempt of a webhook delivery. */
export type RecordedAttempt = {
  /** A UUID of version 7. It starts with the time at which the event was accepted. */
  delivery_id: string;
  trigger: string;
  succeeded: boolean;
  failure: string | null;
  response_ms: number;
  attempted_at: string;
  /** The attempt's number. */
  number: number;
};

/** Creates the metrics of a delivery worker. */
export function createDeliveryMetrics(registry: Registry) {
  const attempts = registry.family(METRICS.deliveryAttempts);
  const seconds = registry.histogram(METRICS.deliverySeconds);
  const lag = registry.histogram(METRICS.deliveryLag);
  const disabled = registry.family(METRICS.webhooksDisabled).of();
  attempts.of('automatic', 'succeeded', 'none');
  attempts.of('automatic', 'failed', 'status');
  return {
    onDeliveryAttempt(attempt: RecordedAttempt): void {
      const outcome = attempt.succeeded ? 'succeeded' : 'failed';
      attempts.of(attempt.trigger, outcome, attempt.failure ?? 'none').inc();
      seconds.observe(attempt.response_ms / 1_000, outcome);
      if (attempt.trigger !== 'automatic' || attempt.number !== 1) return;
      lag.observe(Math.max(0, Date.parse(attempt.attempted_at) - timeOf(attempt.delivery_id)) / 1_000);
    },
    onDisabled(): void {
      disabled.inc();
    },
  };
}

/** Returns the time in a UUID of version 7, in milliseconds since 1970. */
function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
