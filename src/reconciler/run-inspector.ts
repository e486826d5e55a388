import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Logger } from 'pino';
import { GRPC, grpcCodeOf, withinDeadline } from '../temporal/deadlines.ts';
import { UUID } from '../domain/common/text.ts';
import type { EngineEnd } from '../domain/tasks/engine-changes.ts';
import type { ControlRequest } from '../domain/tasks/run-state.ts';
import { DISPATCH_EVENTS_WORKFLOW } from '../temporal/delivery-messages.ts';
import {
  callbackWorkflowId,
  cancelSignal,
  enginePausedSignal,
  SEND_CALLBACK_ACTIVITY,
  TASK_CALLBACK_WORKFLOW,
  TASK_RUN_WORKFLOW,
  taskQueues,
  type EnginePause,
} from '../temporal/task-messages.ts';

/** The state of a run in Temporal. */
export type EngineState =
  | { kind: 'absent' }
  | { kind: 'running' }
  | { kind: 'paused'; pausedAt: Date; by: string; reason: string | null }
  | { kind: 'closed'; end: EngineEnd; closedAt: Date; byItself: boolean };

/** Reads runs from Temporal. Times are Temporal's. */
export type RunInspector = ReturnType<typeof createRunInspector>;

const RECONCILER_CALL_LIMIT_MS = 5_000;
/** Limit for listing all open or all paused runs, in milliseconds. */
const LIST_LIMIT_MS = 30_000;
/** `WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_PAUSE_REQUESTED_BEFORE_TASK_STARTED` of Temporal's API. */
const PAUSED_BEFORE_TASK_STARTED = 39;
/** How far back closed executions are searched, in milliseconds. The slow sweep finds older ones. */
const LOOK_BACK_MS = 120_000;

export function createRunInspector({
  client,
  taskQueue,
  log,
}: {
  client: Client;
  taskQueue: string;
  log: Logger;
}) {
  let supportsPauses = true;
  const within = <T>(call: () => Promise<T>, ms = RECONCILER_CALL_LIMIT_MS) =>
    withinDeadline(client, ms, call);

  const queues = taskQueues(taskQueue);

  /** Returns the ids of the runs of this installation that match, by one request for each 1,000. */
  async function runIds(condition: string, withinMs?: number): Promise<string[]> {
    const query = `WorkflowType = '${TASK_RUN_WORKFLOW}' and TaskQueue = '${queues.runs}' and ${condition}`;
    return await within(async () => {
      const found: string[] = [];
      for await (const { workflowId } of client.workflow.list({ query, pageSize: 1_000 }))
        found.push(workflowId);
      // Other programs may use the namespace as well. The id of a run is a UUID.
      return found.filter((id) => UUID.test(id));
    }, withinMs);
  }

  return {
    /** Returns the ids of the runs that are paused in the Temporal Web UI. */
    async pausedRuns(): Promise<string[]> {
      if (!supportsPauses) return [];
      try {
        return await runIds(`ExecutionStatus = 'Paused'`, LIST_LIMIT_MS);
      } catch (error) {
        if (grpcCodeOf(error) !== GRPC.invalidArgument) throw error;
        supportsPauses = false;
        log.warn('this Temporal service does not support workflow pause: pauses in its Web UI are ignored');
        return [];
      }
    },

    /**
     * Returns the ids of the runs that have not ended. A run that has just started may be missing, and one that has just
     * ended may be included.
     */
    openRuns(): Promise<string[]> {
      return runIds(`ExecutionStatus in ('Running', 'Paused')`, LIST_LIMIT_MS);
    },

    /** Returns the ids of the runs that were recently terminated or timed out. */
    runsClosedFromOutside(now: Date): Promise<string[]> {
      const since = new Date(now.getTime() - LOOK_BACK_MS).toISOString();
      return runIds(`ExecutionStatus in ('Terminated', 'TimedOut') and CloseTime > '${since}'`);
    },

    /** Returns whether a workflow that dispatches groups and was started in this period is still open. */
    async hasOpenDispatch({ from, until }: { from: Date; until: Date }): Promise<boolean> {
      const period = `StartTime between '${from.toISOString()}' and '${until.toISOString()}'`;
      const { count } = await within(() =>
        client.workflow.count(
          `WorkflowType = '${DISPATCH_EVENTS_WORKFLOW}' and TaskQueue in ('${queues.deliveries}', '${queues.runs}') and CloseTime is null and ${period}`,
        ),
      );
      return count > 0;
    },

    async stateOf(executionId: string): Promise<EngineState> {
      try {
        const { status, raw, closeTime } = await within(() =>
          client.workflow.getHandle(executionId).describe(),
        );
        // A run whose execution continues as a new one has not ended.
        if (status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW') return { kind: 'running' };
        if (status.name === 'PAUSED')
          return { kind: 'paused', ...pauseOf(raw.workflowExtendedInfo?.pauseInfo) };
        const byItself =
          status.name === 'COMPLETED' || status.name === 'FAILED' || status.name === 'CANCELLED';
        return { kind: 'closed', end: endOf(status.name), closedAt: closeTime ?? new Date(), byItself };
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return { kind: 'absent' };
        throw error;
      }
    },

    /** Signals a pause to a workflow, which reacts once the pause is over. Returns false if it has ended. */
    async signalPause(executionId: string, pause: EnginePause): Promise<boolean> {
      try {
        await within(() => client.workflow.getHandle(executionId).signal(enginePausedSignal, pause));
        return true;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      }
    },

    /**
     * Signals a cancel to a workflow that waits. Returns false if it has ended, is paused in the Web UI, is sending its
     * callback, or has a task already, for example an earlier signal.
     */
    async cancelWaiting(executionId: string, request: ControlRequest): Promise<boolean> {
      const handle = client.workflow.getHandle(executionId);
      try {
        const { status, raw } = await within(() => handle.describe());
        if (status.name !== 'RUNNING' || raw.pendingWorkflowTask || isCallingBack(raw)) return false;
        await within(() => handle.signal(cancelSignal, request));
        return true;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      }
    },

    /**
     * Repairs a run that was paused in the Web UI while a workflow task waited for a worker. Temporal then records the
     * failure of a task that never started. The SDK cannot read such a history, so after the pause each workflow task
     * fails. A reset to this event removes the failure and keeps everything else, also later signals. Returns whether
     * the run was repaired.
     */
    async repairAfterPause(executionId: string): Promise<boolean> {
      const handle = client.workflow.getHandle(executionId);
      const { status, raw, runId } = await within(() => handle.describe());
      if (status.name !== 'RUNNING' || (raw.pendingWorkflowTask?.attempt ?? 0) < 2) return false;
      const { events } = await within(() => handle.fetchHistory());
      const neverStarted = events?.find(
        (event) => Number(event.workflowTaskFailedEventAttributes?.cause) === PAUSED_BEFORE_TASK_STARTED,
      );
      if (!neverStarted) return false;
      await within(() =>
        client.workflowService.resetWorkflowExecution({
          namespace: client.options.namespace,
          workflowExecution: { workflowId: executionId, runId },
          workflowTaskFinishEventId: neverStarted.eventId ?? null,
          reason: 'the SDK cannot read a workflow task that never started',
          requestId: `${runId}:${String(neverStarted.eventId)}`,
        }),
      );
      return true;
    },

    /** Starts the separate workflow that sends the callback of a run. Returns false if it is running. */
    async startCallback(executionId: string): Promise<boolean> {
      try {
        await within(() =>
          client.workflow.start(TASK_CALLBACK_WORKFLOW, {
            workflowId: callbackWorkflowId(executionId),
            taskQueue: queues.runs,
            args: [{ executionId }],
            // The row decides whether an attempt is made. If the callback is still pending, the workflow was terminated, or
            // the database was restored.
            workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          }),
        );
        return true;
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
        throw error;
      }
    },
  };
}

/** Returns whether a workflow is sending a callback. It then knows that its run has ended. */
function isCallingBack({ pendingActivities }: { pendingActivities?: PendingActivity[] | null }): boolean {
  return (
    pendingActivities?.some(({ activityType }) => activityType?.name === SEND_CALLBACK_ACTIVITY) ?? false
  );
}

type PendingActivity = { activityType?: { name?: string | null } | null };

type PauseInfo = {
  identity?: string | null;
  reason?: string | null;
  pausedTime?: { seconds?: unknown; nanos?: number | null } | null;
};

function pauseOf(info: PauseInfo | null | undefined): { pausedAt: Date; by: string; reason: string | null } {
  const { seconds, nanos } = info?.pausedTime ?? {};
  const pausedAt =
    seconds == null ? new Date() : new Date(Number(seconds) * 1_000 + Math.floor((nanos ?? 0) / 1e6));
  return { pausedAt, by: `temporal: ${info?.identity || 'unknown'}`, reason: info?.reason || null };
}

function endOf(status: string): EngineEnd {
  if (status === 'TERMINATED' || status === 'CANCELLED') return { state: 'cancelled' };
  if (status === 'TIMED_OUT') {
    return { state: 'failed', code: 'engine_timed_out', message: 'the run timed out in Temporal' };
  }
  return {
    state: 'failed',
    code: 'engine_failed',
    message: 'the run was closed in Temporal before it ended',
  };
}
