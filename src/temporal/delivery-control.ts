import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { EngineUnavailable, startFailure } from './task-control.ts';
import {
  attemptWorkflowId,
  BACKLOG_SIGNAL,
  backlogWorkflowId,
  deliveryWorkflowId,
  DISPATCH_EVENTS_WORKFLOW,
  dispatchWorkflowId,
  ENDPOINT_BACKLOG_WORKFLOW,
  MANUAL_RETRIES_WORKFLOW,
  manualRetriesWorkflowId,
  NOTIFY_ADMINS_WORKFLOW,
  notifyWorkflowId,
  WEBHOOK_ATTEMPT_WORKFLOW,
  WEBHOOK_DELIVERY_WORKFLOW,
  type AttemptInput,
  type BacklogInput,
  type DeliveryInput,
  type DispatchInput,
  type NotifyInput,
  PRIORITIES,
} from './delivery-messages.ts';
import { withinDeadline } from './deadlines.ts';
import { taskQueues } from './task-messages.ts';

/** An attempt was started, but its result was not recorded in time. It may still be made. */
export class AttemptPending extends Error {
  override name = 'AttemptPending';
}

/** Operations on the workflows of webhook deliveries. */
export type DeliveryControl = ReturnType<typeof createDeliveryControl>;

const START_LIMIT_MS = 10_000;
const CALL_LIMIT_MS = 3_000;
/** An attempt takes 30 s at most. The rest is for the queue and the record. */
const ATTEMPT_LIMIT_MS = 45_000;

type StartOptions = Partial<
  Pick<
    WorkflowStartOptions,
    'startDelay' | 'priority' | 'workflowIdReusePolicy' | 'taskQueue' | 'requestEagerStart'
  >
>;

/** Creates the operations. `taskQueue` is the prefix of the task queues. */
export function createDeliveryControl({ client, taskQueue }: { client: Client; taskQueue: string }) {
  const { deliveries: queue, runs } = taskQueues(taskQueue);
  const within = <T>(ms: number, call: () => Promise<T>) => withinDeadline(client, ms, call);

  /**
   * Starts a workflow. Does nothing if a workflow with this id was started before, and then returns null. `eagerlyStarted`:
   * a worker of this process has it.
   */
  async function start(
    type: string,
    workflowId: string,
    input: object,
    options: StartOptions = {},
  ): Promise<{ eagerlyStarted: boolean } | null> {
    try {
      return await within(START_LIMIT_MS, () =>
        client.workflow.start(type, {
          workflowId,
          taskQueue: queue,
          args: [input],
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          ...options,
        }),
      );
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return null;
      throw startFailure(error);
    }
  }

  /** Signals a workflow of a webhook that there is more to send, and starts it if it does not run. */
  async function signalMore(
    type: string,
    workflowId: string,
    input: BacklogInput,
    priorityKey: number,
  ): Promise<void> {
    try {
      await within(CALL_LIMIT_MS, () =>
        client.workflow.signalWithStart(type, {
          workflowId,
          taskQueue: queue,
          args: [input],
          signal: BACKLOG_SIGNAL,
          signalArgs: [],
          priority: { priorityKey },
        }),
      );
    } catch (error) {
      throw new EngineUnavailable(`Temporal did not accept ${workflowId}`, { cause: error });
    }
  }

  return {
    /**
     * Starts the matching and sending of stored groups of events, in one workflow. If the first group has a workflow
     * already, which may not know the others, they get another one. `here`: the worker of runs in this process gets the
     * workflow with the response to the start, if it has a free slot. Returns whether it got it.
     * @throws EngineUnavailable | EngineUncertain
     */
    async dispatch(groupIds: readonly [string, ...string[]], { here = false } = {}): Promise<boolean> {
      const options = {
        priority: { priorityKey: PRIORITIES.dispatch },
        ...(here ? { taskQueue: runs, requestEagerStart: true } : {}),
      };
      for (const [index, groupId] of groupIds.entries()) {
        const input: DispatchInput = { groupId, groupIds: groupIds.slice(index) };
        const workflowId = dispatchWorkflowId(groupId);
        const started = await start(DISPATCH_EVENTS_WORKFLOW, workflowId, input, options);
        if (started) return started.eagerlyStarted;
      }
      return false;
    },

    /**
     * Starts sending the backlog of a webhook: its deliveries with `in_backlog`.
     * @throws EngineUnavailable
     */
    async drainBacklog(webhookId: string): Promise<void> {
      const workflowId = backlogWorkflowId(webhookId);
      await signalMore(ENDPOINT_BACKLOG_WORKFLOW, workflowId, { webhookId }, PRIORITIES.backlog);
    },

    /**
     * Starts making the manual retries of a webhook that are stored.
     * @throws EngineUnavailable
     */
    async makeManualRetries(webhookId: string): Promise<void> {
      const workflowId = manualRetriesWorkflowId(webhookId);
      await signalMore(MANUAL_RETRIES_WORKFLOW, workflowId, { webhookId }, PRIORITIES.attempt);
    },

    /**
     * Starts the retries of a failed delivery, the first one after `delayMs`.
     * @throws EngineUnavailable | EngineUncertain
     */
    async startRetries(delivery: DeliveryInput, delayMs: number): Promise<void> {
      await start(WEBHOOK_DELIVERY_WORKFLOW, deliveryWorkflowId(delivery), delivery, {
        startDelay: Math.max(0, Math.round(delayMs)),
        priority: { priorityKey: PRIORITIES.retries },
      });
    },

    /**
     * Starts the retries of a delivery that is overdue, unless their workflow is open. An earlier workflow may have ended.
     * @throws EngineUnavailable | EngineUncertain
     */
    async startOverdueRetries(delivery: DeliveryInput): Promise<'started' | 'known'> {
      const priority = { priorityKey: PRIORITIES.retries };
      const options = { priority, workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const };
      const id = deliveryWorkflowId(delivery);
      return (await start(WEBHOOK_DELIVERY_WORKFLOW, id, delivery, options)) ? 'started' : 'known';
    },

    /**
     * Starts a scheduled retry or a test, now or after `delayMs`. `token` is the id of the request. Does nothing if it was
     * started before.
     * @throws EngineUnavailable | EngineUncertain
     */
    async attempt(input: AttemptInput, delayMs = 0): Promise<void> {
      const priority = { priorityKey: PRIORITIES.attempt };
      const options = { priority, ...(delayMs > 0 ? { startDelay: Math.round(delayMs) } : {}) };
      await start(WEBHOOK_ATTEMPT_WORKFLOW, attemptWorkflowId(input.token), input, options);
    },

    /**
     * Starts a scheduled attempt that is overdue, unless its workflow is open. An earlier workflow may have ended.
     * @throws EngineUnavailable | EngineUncertain
     */
    async attemptOverdue(input: AttemptInput): Promise<'started' | 'known'> {
      const priority = { priorityKey: PRIORITIES.attempt };
      const options = { priority, workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const };
      const id = attemptWorkflowId(input.token);
      return (await start(WEBHOOK_ATTEMPT_WORKFLOW, id, input, options)) ? 'started' : 'known';
    },

    /** Ends the workflow of a scheduled attempt that will not be made. Does nothing if it has ended. */
    async endAttempt(token: string, reason: string): Promise<void> {
      try {
        const handle = client.workflow.getHandle(attemptWorkflowId(token));
        await within(CALL_LIMIT_MS, () => handle.terminate(reason));
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return;
        throw new EngineUnavailable('Temporal did not end the attempt', { cause: error });
      }
    },

    /**
     * Starts an attempt now and waits until it is recorded.
     * @throws EngineUnavailable | EngineUncertain | AttemptPending
     */
    async attemptAndWait(input: AttemptInput): Promise<void> {
      const priority = { priorityKey: PRIORITIES.test };
      await start(WEBHOOK_ATTEMPT_WORKFLOW, attemptWorkflowId(input.token), input, { priority });
      try {
        const handle = client.workflow.getHandle(attemptWorkflowId(input.token));
        await within(ATTEMPT_LIMIT_MS, () => handle.result());
      } catch (error) {
        throw new AttemptPending('the attempt has no result in time', { cause: error });
      }
    },

    /**
     * Starts the mails about a disabled webhook or an escalated run, once.
     * @throws EngineUnavailable | EngineUncertain
     */
    async notify(reason: NotifyInput): Promise<void> {
      await start(NOTIFY_ADMINS_WORKFLOW, notifyWorkflowId(reason), reason);
    },
  };
}
