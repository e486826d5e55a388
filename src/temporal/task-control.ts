import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { SignalDefinition } from '@temporalio/common';
import type { Rehearsal } from '../domain/tasks/rehearsal.ts';
import { rehearsalOf } from '../domain/tasks/task-metadata.ts';
import type { ContinueRequest, ControlRequest } from '../domain/tasks/run-state.ts';
import type { RunView } from '../domain/tasks/run-schemas.ts';
import type { TaskType } from '../domain/tasks/task-run.ts';
import { createCircuitBreaker } from '../domain/common/circuit-breaker.ts';
import { GRPC, grpcCodeOf, isLate, withinDeadline, wrappedGrpcCodeOf } from './deadlines.ts';
import {
  CALLBACK_RETRY_WORKFLOW,
  callbackRetryWorkflowId,
  callbackWorkflowId,
  cancelSignal,
  continueSignal,
  detailQuery,
  pauseSignal,
  PUSH_WORKFLOW,
  pushWorkflowId,
  TASK_RUN_WORKFLOW,
  taskQueues,
  type CallbackRetry,
  type Push,
  type TaskRunInput,
} from './task-messages.ts';

/** The data that Temporal needs to start a run. */
export type RunToStart = {
  id: string;
  workspaceId: string;
  projectId: string;
  title: string;
  taskType: TaskType;
  rehearsal: Rehearsal | null;
  hasCallback: boolean;
  /** Whether a stored plan exists that the run adopts. */
  hasPlan?: boolean;
  createdAt: Date;
};

/** Returns what Temporal needs of a stored run. */
export function runToStart(
  row: {
    id: string;
    workspace_id: string;
    project_id: string;
    title: string;
    task_type: TaskType;
    /** A JSON text. */
    metadata: string;
    callback_url?: string | null | undefined;
    created_at: Date;
  },
  hasPlan: boolean,
): RunToStart {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    projectId: row.project_id,
    title: row.title,
    taskType: row.task_type,
    rehearsal: rehearsalOf(JSON.parse(row.metadata) as Record<string, unknown>),
    hasCallback: Boolean(row.callback_url),
    hasPlan,
    createdAt: row.created_at,
  };
}

/** Temporal is unreachable or refuses. Nothing was started. */
export class EngineUnavailable extends Error {
  override name = 'EngineUnavailable';
}

/** Temporal refuses this start. It may accept others. */
export class EngineRefusal extends EngineUnavailable {
  override name = 'EngineRefusal';
}

/** Temporal did not confirm a signal. The run may have received it or not. */
export class SignalUncertain extends EngineUnavailable {
  override name = 'SignalUncertain';
}

/** Temporal did not respond. The run may have been started or not. */
export class EngineUncertain extends Error {
  override name = 'EngineUncertain';
}

/** Whether Temporal has accepted a signal, or the run has ended. */
export type SignalOutcome = 'accepted' | 'ended';

/** Operations on the workflows of runs. A signal starts a workflow that does not exist yet with its `unstarted`. */
export type TaskControl = ReturnType<typeof createTaskControl>;

/** Long enough for a burst: of some hundreds of concurrent starts, the last ones wait for the others. */
const START_LIMIT_MS = 10_000;
const CALL_LIMIT_MS = 3_000;
/** The projection replaces the answer to a slower query (docs/how-it-works.md). */
const QUERY_LIMIT_MS = 1_000;
/** How long it replaces all answers after a late one, in milliseconds. */
const QUERY_REST_MS = 2_000;
/** The server accepts summaries of at most 400 bytes. */
const SUMMARY_BYTES = 400;

/** gRPC codes that rule out that anything was started. */
const REFUSALS = new Set([3, 5, 7, 8, 9, 12, 16]);
/** Those of them that concern one request: others may be accepted. */
const REFUSALS_OF_ONE = new Set([3, 9]);

type Dependencies = {
  client: Client;
  /** The prefix of the task queues. */
  taskQueue: string;
  /** Whether the Temporal service has the search attributes of Baton. */
  searchable: boolean;
  /** Whether a worker of this process may get the first workflow task with the response to the start. */
  eagerStart: boolean;
};

export function createTaskControl({ client, taskQueue, eagerStart, searchable }: Dependencies) {
  const handleOf = (id: string) => client.workflow.getHandle(id);
  const within = <T>(ms: number, call: () => Promise<T>) => withinDeadline(client, ms, call);
  const queries = createCircuitBreaker(QUERY_REST_MS, isLate);

  /** Returns the options of the workflow of a run, the same for each start of it. */
  function optionsOf(run: RunToStart) {
    const input: TaskRunInput = {
      executionId: run.id,
      createdAt: run.createdAt.toISOString(),
      hasCallback: run.hasCallback,
      taskType: run.taskType,
      rehearsal: run.rehearsal,
      ...(run.hasPlan ? { hasPlan: true } : {}),
      ordersSignals: true,
      findBy: searchable ? { workspaceId: run.workspaceId, projectId: run.projectId } : null,
    };
    return {
      workflowId: run.id,
      taskQueue: taskQueues(taskQueue).runs,
      args: [input] as [TaskRunInput],
      workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
      staticSummary: cutToBytes(run.title, SUMMARY_BYTES),
    };
  }

  /** Signals a run. If its workflow does not exist yet, the signal starts it with `unstarted`. */
  async function signal<Request extends ControlRequest>(
    id: string,
    definition: SignalDefinition<[Request]>,
    request: Request,
    unstarted: RunToStart | null,
  ): Promise<SignalOutcome> {
    try {
      await within(CALL_LIMIT_MS, async () => {
        try {
          await handleOf(id).signal(definition, request);
        } catch (error) {
          if (!(error instanceof WorkflowNotFoundError) || unstarted === null) throw error;
          const first = { signal: definition, signalArgs: [request] as [Request] };
          await client.workflow.signalWithStart(TASK_RUN_WORKFLOW, { ...optionsOf(unstarted), ...first });
        }
      });
      return 'accepted';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'ended';
      if (error instanceof WorkflowExecutionAlreadyStartedError) return 'ended';
      throw new SignalUncertain('Temporal did not accept the signal', { cause: error });
    }
  }

  return {
    /**
     * Starts the workflow of a stored run. Returns whether it was started before, and then does nothing.
     * @throws EngineUnavailable | EngineUncertain
     */
    async start(run: RunToStart): Promise<'started' | 'known'> {
      try {
        const options = { ...optionsOf(run), requestEagerStart: eagerStart };
        await within(START_LIMIT_MS, () => client.workflow.start(TASK_RUN_WORKFLOW, options));
        return 'started';
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return 'known';
        throw startFailure(error);
      }
    },

    /**
     * Queries the run for its state. Returns null if the answer is late or another one was late just before, or if the run is
     * paused in the Web UI, deleted or unreachable.
     */
    async view(id: string): Promise<RunView | null> {
      try {
        return await queries.call(() => within(QUERY_LIMIT_MS, () => handleOf(id).query(detailQuery)));
      } catch {
        return null;
      }
    },

    /** @throws EngineUnavailable */
    async pause(
      id: string,
      request: ControlRequest,
      unstarted: RunToStart | null = null,
    ): Promise<SignalOutcome> {
      return await signal(id, pauseSignal, request, unstarted);
    },

    /**
     * Continues the run and ends a pause made in the Web UI.
     * @throws EngineUnavailable
     */
    async continue(
      id: string,
      request: ContinueRequest,
      unstarted: RunToStart | null = null,
    ): Promise<SignalOutcome> {
      const answer = await signal(id, continueSignal, request, unstarted);
      if (answer === 'accepted') await endEnginePause(id, request.by);
      return answer;
    },

    /**
     * Cancels the run and ends a pause made in the Web UI, which would delay the end.
     * @throws EngineUnavailable
     */
    async cancel(
      id: string,
      request: ControlRequest,
      unstarted: RunToStart | null = null,
    ): Promise<SignalOutcome> {
      const answer = await signal(id, cancelSignal, request, unstarted);
      if (answer === 'accepted') await endEnginePause(id, request.by);
      return answer;
    },

    /**
     * Starts the manual retry of a callback. Does nothing if its workflow is running, and then returns `known`.
     * @throws EngineUnavailable | EngineUncertain
     */
    async retryCallback(retry: CallbackRetry): Promise<'started' | 'known'> {
      return await startSending(CALLBACK_RETRY_WORKFLOW, callbackRetryWorkflowId(retry), retry);
    },

    /**
     * Starts to send the push notifications of a run to one address. Does nothing if the workflow is running, and then
     * returns `known`.
     * @throws EngineUnavailable | EngineUncertain
     */
    async sendPushes(push: Push): Promise<'started' | 'known'> {
      return await startSending(PUSH_WORKFLOW, pushWorkflowId(push), push);
    },

    /**
     * Deletes the workflows of an ended run from Temporal, with all their executions. Ignores workflows that are
     * deleted already.
     * @throws EngineUnavailable
     */
    async deleteRun(id: string): Promise<void> {
      const executions = await executionsOf(`WorkflowId STARTS_WITH '${id}'`);
      await Promise.all([
        deleteWorkflow({ workflowId: id }),
        deleteWorkflow({ workflowId: callbackWorkflowId(id) }),
        ...executions.map(deleteWorkflow),
      ]);
    },

    /**
     * Cancels the workflows of a run's agents, if the run cannot do so itself.
     * @throws EngineUnavailable
     */
    async cancelAgents(id: string): Promise<void> {
      const open = await executionsOf(
        `WorkflowId STARTS_WITH '${id}:' and ExecutionStatus in ('Running', 'Paused')`,
      );
      // The callback of the run is still sent.
      const agents = open.filter(({ workflowId }) => !workflowId.startsWith(callbackWorkflowId(id)));
      await Promise.all(agents.map(({ workflowId }) => cancelWorkflow(workflowId)));
    },

    /**
     * Resolves when Temporal responds.
     * @throws EngineUnavailable
     */
    async ready(): Promise<void> {
      try {
        await within(QUERY_LIMIT_MS, () => client.workflowService.getSystemInfo({}));
      } catch (error) {
        throw new EngineUnavailable('Temporal is unreachable', { cause: error });
      }
    },
  };

  async function startSending(type: string, workflowId: string, input: object): Promise<'started' | 'known'> {
    const options = {
      workflowId,
      taskQueue: taskQueues(taskQueue).runs,
      args: [input],
      // The row decides whether an attempt is made. If it still waits for one, the workflow was terminated, or the
      // database was restored.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
    };
    try {
      await within(CALL_LIMIT_MS, () => client.workflow.start(type, options));
      return 'started';
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return 'known';
      throw startFailure(error);
    }
  }

  async function executionsOf(query: string): Promise<{ workflowId: string; runId: string }[]> {
    try {
      return await within(CALL_LIMIT_MS, async () => {
        const found = [];
        for await (const { workflowId, runId } of client.workflow.list({ query }))
          found.push({ workflowId, runId });
        return found;
      });
    } catch (error) {
      throw new EngineUnavailable('Temporal did not list the workflows of the run', { cause: error });
    }
  }

  async function cancelWorkflow(workflowId: string): Promise<void> {
    try {
      await within(CALL_LIMIT_MS, () => handleOf(workflowId).cancel());
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return;
      throw new EngineUnavailable('Temporal did not cancel the work of an agent', { cause: error });
    }
  }

  async function deleteWorkflow(workflowExecution: { workflowId: string; runId?: string }): Promise<void> {
    const request = { namespace: client.options.namespace, workflowExecution };
    try {
      await within(CALL_LIMIT_MS, () => client.workflowService.deleteWorkflowExecution(request));
    } catch (error) {
      if (grpcCodeOf(error) === GRPC.notFound) return;
      throw new EngineUnavailable('Temporal did not delete the run', { cause: error });
    }
  }

  /**
   * Ends a pause made in the Temporal Web UI, if there is one.
   * @throws EngineUnavailable
   */
  async function endEnginePause(id: string, by: string): Promise<void> {
    try {
      const { status } = await within(CALL_LIMIT_MS, () => handleOf(id).describe());
      if (status.name !== 'PAUSED') return;
      const request = {
        namespace: client.options.namespace,
        workflowId: id,
        identity: by,
        reason: 'through the API',
        requestId: randomUUID(),
      };
      await within(CALL_LIMIT_MS, () => client.workflowService.unpauseWorkflowExecution(request));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return;
      throw new SignalUncertain('Temporal did not resume the run', { cause: error });
    }
  }
}

/** Classifies the error of a start: certainly refused, or uncertain. */
export function startFailure(error: unknown): EngineUnavailable | EngineUncertain {
  const code = wrappedGrpcCodeOf(error) ?? Number.NaN;
  const refusal = 'Temporal refused the start';
  if (REFUSALS_OF_ONE.has(code)) return new EngineRefusal(refusal, { cause: error });
  if (REFUSALS.has(code)) return new EngineUnavailable(refusal, { cause: error });
  return new EngineUncertain('Temporal did not respond', { cause: error });
}

/** Returns the longest prefix of `text` that fits into `limit` bytes of UTF-8. */
function cutToBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  // A character cut in half decodes to U+FFFD at the end.
  return bytes
    .subarray(0, limit)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
}
