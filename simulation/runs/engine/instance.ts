import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { setActivator } from '@temporalio/workflow/lib/global-attributes.js';
import { Activator } from '@temporalio/workflow/lib/internals.js';
import {
  activate,
  concludeActivation,
  initialize,
  tryUnblockConditions,
} from '@temporalio/workflow/lib/worker-interface.js';
import { setWorkflowTime } from '../../world/globals.ts';
import { nextTurn, type Clock } from '../../world/clock.ts';

/** What an activation tells a workflow, in the SDK's form: `{ variant: 'fireTimer', fireTimer: { seq } }`. */
export type Job = { variant: string } & Record<string, unknown>;

/** One turn of a workflow's code. `historyLength` is the same in all turns of a workflow task. */
export type Activation = { at: number; historyLength: number; jobs: readonly Job[] };

type Completion = NonNullable<ReturnType<typeof concludeActivation>['successful']>;
/** What a workflow asks for, in the SDK's form. */
export type Command = NonNullable<Completion['commands']>[number];

/** The code of one execution of a workflow in the memory of a worker. */
export type Instance = {
  /** Runs the code as far as it gets, and returns its commands. @throws what the code of the workflow throws */
  run(activation: Activation, isReplaying: boolean): Promise<Command[]>;
  /** Returns the answer to a query. */
  query(name: string): Promise<unknown>;
};

export type InstanceStart = {
  workflow: (...args: never[]) => Promise<unknown>;
  workflowId: string;
  runId: string;
  continuedFrom: string | null;
  type: string;
  taskQueue: string;
  startedAt: number;
  activityNames: ReadonlySet<string>;
  /** Patches that earlier workflow tasks of this execution have recorded. */
  patches: ReadonlySet<string>;
};

/** All flags of the SDK. */
const FLAGS = [1, 2, 3, 4, 5, 6];

/** Creates an execution of a workflow with the SDK's own runtime, without its sandbox. */
export function createInstance(clock: Clock, start: InstanceStart): Instance {
  const { workflowId, runId, continuedFrom, type, taskQueue, startedAt, workflow, activityNames } = start;
  const time = new Date(startedAt);
  const info = {
    workflowId,
    runId,
    workflowType: type,
    taskQueue,
    namespace: 'simulated',
    firstExecutionRunId: runId,
    continuedFromExecutionRunId: continuedFrom ?? undefined,
    attempt: 1,
    startTime: time,
    runStartTime: time,
    historyLength: 0,
    historySize: 0,
    continueAsNewSuggested: false,
    searchAttributes: {},
    memo: {},
    unsafe: { isReplaying: true, isReplayingHistoryEvents: true, now: () => clock.now() },
  };
  const activator = new Activator({
    info,
    now: startedAt,
    showStackTraceSources: false,
    stackTracesEnabled: false,
    getTimeOfDay: () => 0n,
    randomnessSeed: [...Buffer.from(runId)],
    registeredActivityNames: activityNames,
    failureExceptionTypeNames: [],
  } as unknown as ConstructorParameters<typeof Activator>[0]);
  activator.workflow = workflow as NonNullable<typeof activator.workflow>;
  activator.addKnownFlags(FLAGS);
  for (const patchId of start.patches) activator.notifyHasPatch({ patchId });

  /** Runs the SDK's functions for this execution: they find it in a global variable. */
  async function within<T>(work: () => Promise<T>): Promise<T> {
    return await clock.exclusively(async () => {
      setActivator(activator);
      setWorkflowTime(activator.now);
      try {
        return await work();
      } finally {
        setActivator(undefined);
        setWorkflowTime(null);
      }
    });
  }

  async function runJobs(jobs: readonly Job[]): Promise<Command[]> {
    const [first] = jobs;
    if (first?.variant === 'initializeWorkflow') initialize(first['initializeWorkflow'] as never);
    activate({ jobs: [...jobs] } as never);
    // As the sandbox does, which runs all microtasks after each call.
    do await nextTurn();
    while (tryUnblockConditions() > 0);
    return [...(concludeActivation().successful?.commands ?? [])];
  }

  return {
    run: ({ at, historyLength, jobs }, isReplaying) => {
      activator.now = at;
      activator.mutateWorkflowInfo((known) => ({
        ...known,
        historyLength,
        unsafe: { ...known.unsafe, isReplaying, isReplayingHistoryEvents: isReplaying },
      }));
      return within(() => runJobs(jobs));
    },
    query: (name) =>
      within(async () => {
        const queryWorkflow = { queryId: 'query', queryType: name, arguments: [], headers: {} };
        const [answer] = await runJobs([{ variant: 'queryWorkflow', queryWorkflow }]);
        const response = answer?.respondToQuery?.succeeded?.response;
        if (!response) throw new Error(`the query ${name} failed`);
        return valueOf(response);
      }),
  };
}

/** Returns a value as it arrives elsewhere. */
export function payloadOf(value: unknown): Payload {
  return defaultPayloadConverter.toPayload(value);
}

export function valueOf(payload: object): unknown {
  return defaultPayloadConverter.fromPayload(payload);
}

/** Returns the milliseconds of a duration of a command. */
export function durationOf(duration: object | null | undefined): number {
  return tsToMs(duration);
}
