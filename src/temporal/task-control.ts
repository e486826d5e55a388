import { randomUUID } from 'node:crypto';
import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowHandle,
} from '@temporalio/client';
import type { Rehearsal } from '../domain/tasks/rehearsal.ts';
import type { ControlRequest } from '../domain/tasks/run-state.ts';
import type { RunView, TaskType } from '../domain/tasks/task-run.ts';
import { GRPC, grpcCodeOf, withinDeadline } from './deadlines.ts';
import {
  callbackWorkflowId,
  cancelSignal,
  continueSignal,
  detailQuery,
  pauseSignal,
  TASK_RUN_WORKFLOW,
  taskQueues,
  type TaskRunInput,
} from './task-messages.ts';

/** What Temporal must know of a run to start it. */
export type RunToStart = {
  id: string;
  workspaceId: string;
  projectId: string;
  title: string;
  taskType: TaskType;
  rehearsal: Rehearsal | null;
  hasCallback: boolean;
  /** Whether a plan lies ready that the run takes up. */
  hasPlan?: boolean;
  createdAt: Date;
};

/** Temporal is out of reach or refuses; nothing was started. */
export class EngineUnavailable extends Error {
  override name = 'EngineUnavailable';
}

/** Temporal did not answer: the run may have been started or not. */
export class EngineUncertain extends Error {
  override name = 'EngineUncertain';
}

/** What clients of the engine do with runs. */
export type TaskControl = ReturnType<typeof createTaskControl>;

/** Long enough for a burst: of some hundreds of starts at once, the last ones wait for the others. */
const START_LIMIT_MS = 10_000;
const CALL_LIMIT_MS = 3_000;
/** A query that is not answered by then is answered by the projection (docs/how-it-works.md). */
const QUERY_LIMIT_MS = 1_000;
/** The server takes 400 bytes of summary. */
const SUMMARY_BYTES = 400;

/** gRPC codes after which nothing can have been started. */
const REFUSALS = new Set([3, 5, 7, 8, 9, 12, 16]);

type Dependencies = {
  client: Client;
  /** The prefix of the task queues. */
  taskQueue: string;
  /** Whether the Temporal service knows our search attributes. */
  searchable: boolean;
  /** Whether a worker of this process may take the first workflow task with the start's answer. */
  eagerStart: boolean;
};

export function createTaskControl({ client, taskQueue, eagerStart, searchable }: Dependencies) {
  const handleOf = (id: string) => client.workflow.getHandle(id);
  const within = <T>(ms: number, call: () => Promise<T>) => withinDeadline(client, ms, call);

  async function signal(
    id: string,
    send: (handle: WorkflowHandle) => Promise<void>,
  ): Promise<'accepted' | 'ended'> {
    try {
      await within(CALL_LIMIT_MS, () => send(handleOf(id)));
      return 'accepted';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'ended';
      throw new EngineUnavailable('Temporal did not accept the signal', { cause: error });
    }
  }

  /** Lifts a pause made in the Temporal Web UI, if there is one. */
  async function liftEnginePause(id: string, by: string): Promise<void> {
    const { status } = await within(CALL_LIMIT_MS, () => handleOf(id).describe());
    if (status.name !== 'PAUSED') return;
    const { namespace } = client.options;
    const request = {
      namespace,
      workflowId: id,
      identity: by,
      reason: 'through the API',
      requestId: randomUUID(),
    };
    await within(CALL_LIMIT_MS, () => client.workflowService.unpauseWorkflowExecution(request));
  }

  return {
    /**
     * Starts the workflow of a stored run; one that was started before is left as it is.
     * @throws EngineUnavailable | EngineUncertain
     */
    async start(run: RunToStart): Promise<void> {
      const input: TaskRunInput = {
        executionId: run.id,
        createdAt: run.createdAt.toISOString(),
        hasCallback: run.hasCallback,
        taskType: run.taskType,
        rehearsal: run.rehearsal,
        ...(run.hasPlan ? { hasPlan: true } : {}),
        findBy: searchable ? { workspaceId: run.workspaceId, projectId: run.projectId } : null,
      };
      try {
        await within(START_LIMIT_MS, () =>
          client.workflow.start(TASK_RUN_WORKFLOW, {
            workflowId: run.id,
            taskQueue: taskQueues(taskQueue).runs,
            args: [input],
            requestEagerStart: eagerStart,
            workflowIdReusePolicy: 'REJECT_DUPLICATE',
            staticSummary: cutToBytes(run.title, SUMMARY_BYTES),
          }),
        );
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return;
        throw startFailure(error);
      }
    },

    /**
     * Finds out, under the same id, whether an uncertain start took place.
     * @throws EngineUnavailable when Temporal does not answer that either
     */
    async confirmStart(id: string): Promise<'started' | 'absent'> {
      try {
        await within(CALL_LIMIT_MS, () => handleOf(id).describe());
        return 'started';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return 'absent';
        throw new EngineUnavailable('Temporal is unreachable', { cause: error });
      }
    },

    /** The run's own answer; null when it is late, paused in the Web UI, ended and gone, or out of reach. */
    async view(id: string): Promise<RunView | null> {
      try {
        return await within(QUERY_LIMIT_MS, () => handleOf(id).query(detailQuery));
      } catch {
        return null;
      }
    },

    /** @throws EngineUnavailable */
    async pause(id: string, request: ControlRequest): Promise<'accepted' | 'ended'> {
      return await signal(id, (handle) => handle.signal(pauseSignal, request));
    },

    /** Continues the run and lifts a pause of the Web UI. @throws EngineUnavailable */
    async continue(id: string, request: ControlRequest): Promise<'accepted' | 'ended'> {
      const answer = await signal(id, (handle) => handle.signal(continueSignal, request));
      if (answer === 'accepted') await lift(id, request);
      return answer;
    },

    /** Cancels the run; a pause of the Web UI is lifted, since it would hold the end back. @throws EngineUnavailable */
    async cancel(id: string, request: ControlRequest): Promise<'accepted' | 'ended'> {
      const answer = await signal(id, (handle) => handle.signal(cancelSignal, request));
      if (answer === 'accepted') await lift(id, request);
      return answer;
    },

    /** Deletes what Temporal holds of an ended run; one that it has forgotten is fine. @throws EngineUnavailable */
    async forget(id: string): Promise<void> {
      const children = await agentsOf(id);
      await Promise.all([
        forgetWorkflow({ workflowId: id }),
        forgetWorkflow({ workflowId: callbackWorkflowId(id) }),
        ...children.map(forgetWorkflow),
      ]);
    },

    /** Resolves when Temporal answers. @throws EngineUnavailable */
    async ready(): Promise<void> {
      try {
        await within(QUERY_LIMIT_MS, () => client.workflowService.getSystemInfo({}));
      } catch (error) {
        throw new EngineUnavailable('Temporal is unreachable', { cause: error });
      }
    },
  };

  /** Every execution of the workflows in which agents have worked on a run. */
  async function agentsOf(id: string): Promise<{ workflowId: string; runId: string }[]> {
    try {
      return await within(CALL_LIMIT_MS, async () => {
        const found = [];
        const query = `WorkflowId STARTS_WITH '${id}:'`;
        for await (const { workflowId, runId } of client.workflow.list({ query }))
          found.push({ workflowId, runId });
        return found;
      });
    } catch (error) {
      throw new EngineUnavailable('Temporal did not list the workflows of the run', { cause: error });
    }
  }

  async function forgetWorkflow(workflowExecution: { workflowId: string; runId?: string }): Promise<void> {
    const request = { namespace: client.options.namespace, workflowExecution };
    try {
      await within(CALL_LIMIT_MS, () => client.workflowService.deleteWorkflowExecution(request));
    } catch (error) {
      if (grpcCodeOf(error) === GRPC.notFound) return;
      throw new EngineUnavailable('Temporal did not delete the run', { cause: error });
    }
  }

  async function lift(id: string, request: ControlRequest): Promise<void> {
    try {
      await liftEnginePause(id, request.by);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return;
      throw new EngineUnavailable('Temporal did not resume the run', { cause: error });
    }
  }
}

/** Sorts what a start has thrown: certainly refused, or not known. */
export function startFailure(error: unknown): EngineUnavailable | EngineUncertain {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (REFUSALS.has(grpcCodeOf(cause) ?? Number.NaN)) {
    return new EngineUnavailable('Temporal refused to start the run', { cause: error });
  }
  return new EngineUncertain('Temporal did not respond', { cause: error });
}

/** The longest beginning of `text` that fits `limit` bytes of UTF-8. */
function cutToBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  // A character cut in half decodes to U+FFFD at the end.
  return bytes
    .subarray(0, limit)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
}
