import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { ActivityFailure, RetryState } from '@temporalio/common';
import { DISPATCH_EVENTS_WORKFLOW, NOTIFY_ADMINS_WORKFLOW } from '../../src/temporal/delivery-messages.ts';
import { dispatchEvents } from '../../src/workflows/dispatch-events.ts';
import { endpointBacklog, manualRetries } from '../../src/workflows/endpoint-backlog.ts';
import { webhookAttempt, webhookDelivery } from '../../src/workflows/webhook-delivery.ts';
import type { Clock } from '../world/clock.ts';
import type { Faults } from '../world/faults.ts';
import { retryWaitMs, type TaskHandle, type Tasks } from './tasks.ts';
import { currentWorkflow, type ActivityCall, type WorkflowHost } from './workflow-api.ts';

type Execution = {
  id: string;
  type: string;
  startedAt: number;
  isOpen: boolean;
  handlers: Map<string, () => void>;
  /** Checks conditions again after a signal. */
  wakeUp: () => void;
  signals: string[];
  /** The attempt of an activity in progress. */
  activity: TaskHandle | null;
};

type WorkflowFunction = (input: never) => Promise<unknown>;

const WORKFLOWS: Record<string, WorkflowFunction> = {
  dispatchEvents,
  endpointBacklog,
  manualRetries,
  webhookAttempt,
  webhookDelivery,
  // Mails are not simulated.
  [NOTIFY_ADMINS_WORKFLOW]: async () => {},
};

/** Latency of one message to or from the engine, in milliseconds. */
export const LATENCY_MS = 12;

/** A durable engine: workflows survive everything, activities run at least once, ids are unique. */
export type Engine = ReturnType<typeof createEngine>;

export function createEngine(clock: Clock, faults: Faults, tasks: Tasks) {
  const executions = new Map<string, Execution>();
  const delay = () => faults.delay(LATENCY_MS);

  function open(id: string, type: string, input: unknown, startDelayMs: number): Execution {
    const execution: Execution = {
      id,
      type,
      startedAt: clock.now(),
      isOpen: true,
      signals: [],
      handlers: new Map(),
      wakeUp: () => {},
      activity: null,
    };
    executions.set(id, execution);
    clock.after(startDelayMs + delay(), null, () => void runWorkflow(execution, input));
    return execution;
  }

  async function runWorkflow(execution: Execution, input: unknown): Promise<void> {
    const { type } = execution;
    const workflow = WORKFLOWS[type];
    if (!workflow) throw new Error(`there is no workflow ${type}`);
    if (!execution.isOpen) return;
    try {
      await currentWorkflow.run(hostOf(execution), () => workflow(input as never));
    } finally {
      execution.isOpen = false;
    }
  }

  function hostOf(execution: Execution): WorkflowHost {
    return {
      execute: (call) => execute(execution, call),
      sleep: (ms) => sleep(execution, ms),
      setHandler(name, handle) {
        execution.handlers.set(name, handle);
        for (const early of execution.signals.splice(0)) if (early === name) handle();
      },
      condition: (isMet, ms) =>
        new Promise((resolve) => {
          const timer = clock.after(ms, null, () => void (execution.isOpen && resolve(isMet())));
          execution.wakeUp = () => {
            if (!execution.isOpen || !isMet()) return;
            timer.cancel();
            resolve(true);
          };
        }),
    };
  }

  async function execute(execution: Execution, call: ActivityCall): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      execution.activity = tasks.begin(call, execution.id, attempt);
      const end = await execution.activity.ended;
      execution.activity = null;
      // The code of a terminated workflow runs no more.
      if (!execution.isOpen) return await never();
      if (end.kind === 'completed') return end.result;
      const waitMs = retryWaitMs(call.options, attempt, end);
      if (waitMs === null) {
        const cause = end.kind === 'failed' ? (end.error as Error) : undefined;
        throw new ActivityFailure('failed', call.name, '1', RetryState.NON_RETRYABLE_FAILURE, '', cause);
      }
      await sleep(execution, waitMs);
    }
  }

  async function sleep(execution: Execution, ms: number): Promise<void> {
    await clock.sleep(ms);
    if (!execution.isOpen) await never();
  }

  /** Ends a workflow. Its activity in progress learns of that with its next heartbeat. */
  function terminate(execution: Execution): void {
    execution.isOpen = false;
    execution.activity?.abandon();
  }

  function start(type: string, { workflowId: id, args = [], ...options }: StartOptions): void {
    const known = executions.get(id);
    const isFree = options.workflowIdReusePolicy === 'ALLOW_DUPLICATE' && !known?.isOpen;
    if (known && !isFree) throw new WorkflowExecutionAlreadyStartedError('started before', id, type);
    open(id, type, args[0], Number(options.startDelay ?? 0));
  }

  function signal(execution: Execution, name: string): void {
    const handle = execution.handlers.get(name);
    if (handle) handle();
    else execution.signals.push(name);
    execution.wakeUp();
  }

  const request = requestsTo(clock, faults);

  const client = {
    withDeadline: <T>(_deadline: number, work: () => Promise<T>) => work(),
    workflow: {
      start: (type: string, options: StartOptions) => request(() => start(type, options)),
      signalWithStart: (type: string, options: SignalOptions) =>
        request(() => {
          const known = executions.get(options.workflowId);
          const execution = known?.isOpen ? known : open(options.workflowId, type, options.args?.[0], 0);
          signal(execution, options.signal);
        }),
      getHandle: (id: string) => ({
        terminate: () =>
          request(() => {
            const execution = executions.get(id);
            if (!execution?.isOpen) throw new WorkflowNotFoundError('it is not open', id, undefined);
            terminate(execution);
          }),
      }),
    },
  };

  const openExecutions = () => [...executions.values()].filter(({ isOpen }) => isOpen);

  return {
    client: client as unknown as Client,
    /** Terminates a workflow as an operator does, counted from the newest. Returns its id; null if none is open. */
    terminate(index: number): string | null {
      const found = openExecutions();
      const execution = found.at(-1 - (index % Math.max(1, found.length)));
      if (!execution) return null;
      terminate(execution);
      return execution.id;
    },
    /** As of the reconciler's run inspector. */
    hasOpenDispatch: ({ from, until }: { from: Date; until: Date }): Promise<boolean> =>
      request(() =>
        [...executions.values()].some(
          ({ type, isOpen, startedAt: at }) =>
            type === DISPATCH_EVENTS_WORKFLOW && isOpen && at >= from.getTime() && at <= until.getTime(),
        ),
      ),
    openWorkflows: () => openExecutions().map(({ id }) => id),
  };
}

/** Returns what the code of a terminated workflow waits for. */
function never(): Promise<never> {
  return new Promise(() => {});
}

/**
 * Returns a function that makes a request of the current process to the engine. During faults, it may be refused, or its
 * response may be lost.
 */
export function requestsTo(clock: Clock, faults: Faults) {
  const delay = () => faults.delay(LATENCY_MS);
  return async <T>(work: () => T | Promise<T>): Promise<T> => {
    const fault = faults.next();
    return await clock.call(
      delay(),
      async () => {
        if (fault === 'lost request') throw new Error('the engine is unavailable');
        const result = await work();
        if (fault === 'lost response') throw new Error('the response of the engine was lost');
        return result;
      },
      delay(),
    );
  };
}

type StartOptions = Pick<
  WorkflowStartOptions,
  'workflowId' | 'args' | 'startDelay' | 'workflowIdReusePolicy'
>;
type SignalOptions = { workflowId: string; signal: string; args?: unknown[] };
