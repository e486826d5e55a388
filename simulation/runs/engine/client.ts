import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { requestsTo } from '../../engine/engine.ts';
import type { EngineState, RunInspector } from '../../../src/reconciler/run-inspector.ts';
import {
  callbackWorkflowId,
  cancelSignal,
  enginePausedSignal,
  TASK_CALLBACK_WORKFLOW,
  TASK_RUN_WORKFLOW,
} from '../../../src/temporal/task-messages.ts';
import type { Clock } from '../../world/clock.ts';
import type { Faults } from '../../world/faults.ts';
import { jobOf, type Execution } from './executions.ts';
import { payloadOf } from './instance.ts';
import type { Server } from './server.ts';

type StartOptions = { workflowId: string; args?: unknown[]; workflowIdReusePolicy?: string };
type SignalWithStart = StartOptions & { signal: { name: string }; signalArgs: unknown[] };

type Dependencies = {
  clock: Clock;
  faults: Faults;
  server: Server;
  /** Changes the arguments of a run's workflow. */
  withArgs: (args: unknown[]) => unknown[];
  /** Called when the engine accepts a signal. */
  onSignal: (id: string, name: string, args: readonly unknown[]) => void;
};

/** Creates Temporal's client as the service uses it for runs. */
export function createClient({ clock, faults, server, withArgs, onSignal }: Dependencies): Client {
  const request = requestsTo(clock, faults);
  const openOf = (id: string): Execution => {
    const execution = server.executions.get(id);
    if (!execution || execution.closed) throw new WorkflowNotFoundError('it is not open', id, undefined);
    return execution;
  };
  const known = (id: string): Execution => {
    const execution = server.executions.get(id);
    if (!execution) throw new WorkflowNotFoundError('it does not exist', id, undefined);
    return execution;
  };
  const start = (
    type: string,
    { workflowId: id, args = [], workflowIdReusePolicy: policy }: StartOptions,
  ) => {
    const earlier = server.executions.get(id);
    const isFree = !earlier || (earlier.closed && policy === 'ALLOW_DUPLICATE');
    if (!isFree) throw new WorkflowExecutionAlreadyStartedError('started before', id, type);
    return server.open(id, type, type === TASK_RUN_WORKFLOW ? withArgs(args) : args);
  };
  const signal = (execution: Execution, name: string, args: readonly unknown[]): void => {
    onSignal(execution.id, name, args);
    const input = args.map(payloadOf);
    server.tell(execution, jobOf('signalWorkflow', { signalName: name, input, headers: {} }));
  };

  const handleOf = (id: string) => ({
    signal: (definition: { name: string }, ...args: unknown[]) =>
      request(() => signal(openOf(id), definition.name, args)),
    query: ({ name }: { name: string }) => request(() => server.query(known(id), name)),
    cancel: () => request(() => server.cancel(openOf(id))),
    describe: () =>
      request(() => {
        const { closed, pause } = known(id);
        return { status: { name: closed?.status ?? (pause ? 'PAUSED' : 'RUNNING') }, raw: {} };
      }),
  });
  const client = {
    options: { namespace: 'simulated' },
    withDeadline: <T>(_deadline: number, work: () => Promise<T>) => work(),
    workflow: {
      start: (type: string, options: StartOptions) => request(() => void start(type, options)),
      signalWithStart: (type: string, options: SignalWithStart) =>
        request(() => {
          const earlier = server.executions.get(options.workflowId);
          const execution = earlier && !earlier.closed ? earlier : start(type, options);
          signal(execution, options.signal.name, options.signalArgs);
        }),
      getHandle: handleOf,
      // Agents with workflows of their own are not simulated.
      async *list() {},
    },
    workflowService: {
      unpauseWorkflowExecution: ({ workflowId }: { workflowId: string }) =>
        request(() => server.setPause(openOf(workflowId), null)),
    },
  };
  return client as unknown as Client;
}

/** How far back closed executions are searched, in milliseconds. */
const LOOK_BACK_MS = 120_000;

type Inspector = Omit<RunInspector, 'hasOpenDispatch'>;

/** Creates what the reconciler reads from the engine: lists that may miss the latest changes, and states. */
export function createInspector({
  clock,
  faults,
  server,
}: Pick<Dependencies, 'clock' | 'faults' | 'server'>): Inspector {
  const request = requestsTo(clock, faults);
  const idsWhere = (matches: (execution: Execution) => boolean) =>
    request(() =>
      [...server.executions.values()]
        .filter((execution) => execution.type === TASK_RUN_WORKFLOW && matches(execution))
        .map(({ id }) => id),
    );

  const signal = (id: string, signalName: string, given: unknown): boolean => {
    const execution = server.executions.get(id);
    if (!execution || execution.closed) return false;
    server.tell(execution, jobOf('signalWorkflow', { signalName, input: [payloadOf(given)], headers: {} }));
    return true;
  };

  return {
    pausedRuns: () => idsWhere(({ pause, closed }) => pause !== null && closed === null),
    openRuns: () => idsWhere(({ closed }) => closed === null),
    runsClosedFromOutside: (now) =>
      idsWhere(({ closed }) => closed?.status === 'TERMINATED' && closed.at > now.getTime() - LOOK_BACK_MS),
    stateOf: (id) =>
      request((): EngineState => {
        const execution = server.executions.get(id);
        if (!execution) return { kind: 'absent' };
        const { closed, pause } = execution;
        if (closed === null)
          return pause === null ? { kind: 'running' } : { kind: 'paused', ...pause, reason: null };
        const { status, at } = closed;
        const isCancelled = status === 'TERMINATED' || status === 'CANCELLED';
        const message = 'the run was closed in Temporal before it ended';
        return {
          kind: 'closed',
          end: isCancelled ? { state: 'cancelled' } : { state: 'failed', code: 'engine_failed', message },
          closedAt: new Date(at),
          byItself: status !== 'TERMINATED',
        };
      }),
    signalPause: (id, pause) => request(() => signal(id, enginePausedSignal.name, pause)),
    cancelWaiting: (id, given) =>
      request(() => {
        const execution = server.executions.get(id);
        const isWaiting = execution && !execution.pause && !execution.task && execution.events.length === 0;
        return isWaiting ? signal(id, cancelSignal.name, given) : false;
      }),
    // Temporal's failed task of a paused workflow is not simulated.
    repairAfterPause: async () => false,
    startCallback: (executionId) =>
      request(() => {
        const id = callbackWorkflowId(executionId);
        const isRunning = server.executions.get(id)?.closed === null;
        if (!isRunning) server.open(id, TASK_CALLBACK_WORKFLOW, [{ executionId }]);
        return !isRunning;
      }),
  };
}
