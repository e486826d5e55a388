import {
  CancellationScope,
  ChildWorkflowCancellationType,
  ChildWorkflowFailure,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  patched,
  proxyActivities,
  startChild,
  workflowInfo,
  type SignalDefinition,
} from '@temporalio/workflow';
import type { FollowActivities, FollowedEnd } from '../activities/agents/follow-agent.ts';
import type { ControlRequest } from '../domain/tasks/run-state.ts';
import { continueSignal, pauseSignal, siblingQueues } from '../temporal/task-messages.ts';
import { until } from './until.ts';

// The activity lasts as long as the agent works. A lost worker is detected by its missing heartbeats.
const { followAgent } = proxyActivities<FollowActivities>({
  heartbeatTimeout: '5 s',
  startToCloseTimeout: '365 d',
  retry: { initialInterval: '500 ms', maximumInterval: '5 s' },
});

/** Patch: children continue when the execution of the run that started them ends. */
export const AGENTS_OUTLIVE = 'agents-outlive-executions';

/** A child workflow of a run. `summary` is its title in the Web UI. */
type Child = { workflow: string; workflowId: string; input: unknown; summary: string };

/** A running child, as the next execution of the run finds it. `isPaused`: whether a pause was signalled to it. */
export type CarriedChild = { isPaused: boolean };

/** The running child of a run. Null if there is none, or none that outlives this execution. */
export type ChildSlot = { child: CarriedChild | null };

/** How a child ended: with a result, or without one. */
export type ChildEnd<Result> = { result: Result } | { failed: string };

/** A child that this execution has started, or that an earlier one did. */
type Agent<Result> = {
  signal(definition: SignalDefinition<[ControlRequest]>, request: ControlRequest): Promise<void>;
  /** @throws CancelledFailure if the current scope is cancelled, after Temporal was asked to cancel the child */
  end(): Promise<ChildEnd<Result>>;
};

/**
 * Runs child workflows of the agents and forwards the run's pauses to them. Each child has its own history, so that the
 * history of the run stays short. A child continues when the run continues as a new execution.
 */
export class Agents {
  readonly #isPaused: () => boolean;
  #open = 0;

  constructor(isPaused: () => boolean) {
    this.#isPaused = isPaused;
  }

  /**
   * Whether all children have ended, Temporal has delivered all requests to cancel them, and all work that follows an agent is
   * done. If the run closes before such a request is delivered, nothing cancels the child.
   */
  get areSettled(): boolean {
    return this.#open === 0;
  }

  /** Runs a child, or follows the child in `slot` that an earlier execution has started. */
  async run<Result>(child: Child, slot: ChildSlot): Promise<ChildEnd<Result>> {
    const outlives = slot.child !== null || patched(AGENTS_OUTLIVE);
    if (outlives) this.#open += 1;
    const forwarding = new CancellationScope();
    try {
      const agent = slot.child ? followed<Result>(child) : await started<Result>(child, outlives);
      forwarding.run(() => this.#forwardPauses(agent, outlives, slot)).catch(() => {});
      return await agent.end();
    } finally {
      forwarding.cancel();
      slot.child = null;
      if (outlives) this.#open -= 1;
    }
  }

  /** Does work that follows an agent, even if the run is cancelled. Ignores its failure. */
  async afterwards(work: () => Promise<void>): Promise<void> {
    this.#open += 1;
    await CancellationScope.nonCancellable(work).catch(() => {});
    this.#open -= 1;
  }

  /** Signals each pause of the run and its end to the child. */
  async #forwardPauses<Result>(agent: Agent<Result>, outlives: boolean, slot: ChildSlot): Promise<void> {
    for (let isPaused = slot.child?.isPaused === true; ; isPaused = !isPaused) {
      if (outlives) slot.child = { isPaused };
      await until(() => this.#isPaused() !== isPaused);
      // Temporal may drop a signal whose sender ends.
      slot.child = null;
      await agent.signal(isPaused ? continueSignal : pauseSignal, { by: 'run' });
    }
  }
}

/** Starts a child. `outlives`: whether it continues when this execution of the run ends. */
async function started<Result>(
  { workflow, workflowId, input, summary }: Child,
  outlives: boolean,
): Promise<Agent<Result>> {
  const child = await startChild<(input: unknown) => Promise<Result>>(workflow, {
    workflowId,
    taskQueue: siblingQueues(workflowInfo().taskQueue).agents,
    args: [input],
    staticSummary: summary,
    // Temporal would also cancel the agents of a run that continues as a new execution. So the run cancels them itself
    // when it ends. If an operator ends it, the reconciler cancels them.
    ...(outlives
      ? {
          parentClosePolicy: ParentClosePolicy.ABANDON,
          cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_REQUESTED,
        }
      : { parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL }),
  });
  return {
    signal: (definition, request) => child.signal(definition, request),
    async end() {
      try {
        return { result: await child.result() };
      } catch (error) {
        if (CancellationScope.current().consideredCancelled || !(error instanceof ChildWorkflowFailure))
          throw error;
        return { failed: reasonOf(error) };
      }
    },
  };
}

function followed<Result>({ workflowId, summary }: Child): Agent<Result> {
  const child = getExternalWorkflowHandle(workflowId);
  return {
    signal: (definition, request) => child.signal(definition, request),
    async end() {
      const taskQueue = siblingQueues(workflowInfo().taskQueue).agents;
      try {
        return (await followAgent.executeWithOptions({ summary, taskQueue }, [
          { workflowId },
        ])) as FollowedEnd<Result>;
      } catch (error) {
        // It may have ended by itself.
        await CancellationScope.nonCancellable(() => child.cancel().catch(() => {}));
        throw error;
      }
    },
  };
}

function reasonOf({ cause, message }: ChildWorkflowFailure): string {
  return isCancellation(cause) ? 'cancelled' : (cause?.message ?? message);
}
