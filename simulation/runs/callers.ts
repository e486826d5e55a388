import { acceptRun } from '../../src/api/tasks/accept.ts';
import { applyAction, type ActionRequest } from '../../src/api/tasks/actions.ts';
import { detailOf, openRun, readRun } from '../../src/api/tasks/read.ts';
import { createRunStarter } from '../../src/api/tasks/run-starter.ts';
import type { Dependencies as ApiDependencies } from '../../src/api/dependencies.ts';
import type { KeyCaller } from '../../src/api/http/caller.ts';
import { createIdempotency, idOfClaim } from '../../src/api/http/idempotency.ts';
import { Problem } from '../../src/api/http/problem.ts';
import type { Claim, RouteResponse } from '../../src/api/http/route.ts';
import type { RateLimiter } from '../../src/domain/common/rate-limiter.ts';
import { openQuestionOf } from '../../src/domain/tasks/run-state.ts';
import type { TaskControl } from '../../src/temporal/task-control.ts';
import { GRACE_MS } from '../engine/tasks.ts';
import { SILENT } from '../reconciler.ts';
import type { Clock, Process } from '../world/clock.ts';
import type { Submission } from './story.ts';
import { requestCallbackRetry } from './store/callbacks.ts';
import { createMemoryKeys, takeOverClaim } from './store/idempotency-keys.ts';
import { asDatabase, type MemoryDatabase } from './store/tables.ts';

export type Operation = 'submit' | 'read' | 'retry' | ActionRequest['action'];

/** A response that a caller received. `state` and `lastSeq`: of the run, if the response contains them. */
export type Answer = {
  operation: Operation;
  status: number;
  executionId: string;
  key: string | null;
  sentAt: number;
  state: string | null;
  lastSeq: number | null;
};

type Dependencies = {
  clock: Clock;
  memory: MemoryDatabase;
  control: TaskControl;
  /** The API process that gets the next request; null while there is none. */
  api: () => Process | null;
  newId: (what: string) => string;
  trace: (line: string) => void;
  onAnswer: (answer: Answer) => void;
};

/** Time after which a caller sends a request again, and how often, in milliseconds. */
const REPEAT_MS = 4_000;
const MOST_SENDS = 20;

const CALLER: KeyCaller = {
  kind: 'key',
  workspaceId: 'workspace',
  projectId: 'project',
  keyId: 'key',
  name: 'a key',
  prefix: 'bt',
  scopes: [],
  actor: 'key:simulated',
  label: 'key:bt',
};

const UNLIMITED = { take: () => ({ granted: true, remaining: 1 }) } as unknown as RateLimiter;

/** Returns the callback secret of a run. */
export const secretOf = (runId: string): string => `secret of ${runId}`;

/** Creates the callers of the API, and what the API does for them. */
export function createCallers({ clock, memory, control, api, newId, trace, onAnswer }: Dependencies) {
  const database = asDatabase(memory);
  const ids: string[] = [];
  let unanswered = 0;
  const sealing = { seal: (text: string) => text, open: (text: string) => text };
  const dependenciesOfProcess = () => {
    const runStarter = createRunStarter(control, SILENT);
    const deps = {
      database,
      control,
      sealing,
      log: SILENT,
      baseUrl: '',
      clock: () => new Date(),
      admission: { admit: async () => {} },
      runStarter,
    };
    return { deps: deps as unknown as ApiDependencies, runStarter, requests: new Set<Promise<void>>() };
  };
  /** What each API process has, and its requests in progress. */
  const open = new Map<Process, ReturnType<typeof dependenciesOfProcess>>();
  const stateOf = (process: Process) => {
    const known = open.get(process) ?? dependenciesOfProcess();
    open.set(process, known);
    return known;
  };
  const once = createIdempotency({
    keys: createMemoryKeys(memory),
    takeOver: (claim) => takeOverClaim(database, claim),
    sealing,
    clock: () => new Date(),
    onError: (error) => trace(`api: ${String(error)}`),
  });

  /** Sends a request until there is a response, as callers do. A response other than 409 and 5xx ends it. */
  function send(
    about: Pick<Answer, 'operation' | 'executionId' | 'key'>,
    work: (deps: ApiDependencies) => Promise<RouteResponse>,
    isRepeated: boolean,
  ): void {
    unanswered += 1;
    let isOver = false;
    const end = () => {
      if (!isOver) unanswered -= 1;
      isOver = true;
    };
    const attempt = (sends: number): void => {
      if (isOver) return;
      if (sends > MOST_SENDS) return end();
      const process = api();
      const sentAt = clock.now();
      if (process?.state === 'up')
        clock.within(process, () => {
          const { deps, requests } = stateOf(process);
          const request = respond(about.operation, () => work(deps)).then((response) => {
            requests.delete(request);
            if (process.state === 'dead') return;
            const isFinal = response.status < 500 && !(isRepeated && response.status === 409);
            if (isOver || !(isFinal || !isRepeated)) return;
            receive(about, response, sentAt);
            end();
          });
          requests.add(request);
        });
      clock.after(REPEAT_MS, null, () => (isRepeated ? attempt(sends + 1) : end()));
    };
    attempt(1);
  }

  async function respond(what: Operation, work: () => Promise<RouteResponse>): Promise<RouteResponse> {
    try {
      return await work();
    } catch (error) {
      const status = error instanceof Problem ? error.status : 500;
      trace(`api: ${what} got ${status}: ${(error as Error).message}`);
      return { status };
    }
  }

  function receive(
    about: Pick<Answer, 'operation' | 'executionId' | 'key'>,
    { status, body }: RouteResponse,
    sentAt: number,
  ): void {
    const { execution_id: id, state, last_seq: lastSeq } = (body ?? {}) as Record<string, unknown>;
    const executionId = typeof id === 'string' ? id : about.executionId;
    const shown = { state: (state ?? null) as string | null, lastSeq: (lastSeq ?? null) as number | null };
    trace(
      `the response to ${about.operation} of ${executionId} is ${status} ${shown.state} ${shown.lastSeq}`,
    );
    onAnswer({ ...about, executionId, status, sentAt, ...shown });
  }

  /** Accepts a task, as the route does after it has checked the request. */
  async function accept(
    deps: ApiDependencies,
    { taskType, rehearsal, receiver }: Submission,
    claim: Claim | null,
  ): Promise<RouteResponse> {
    const run = {
      id: claim ? idOfClaim(claim) : newId('run'),
      workspace_id: CALLER.workspaceId,
      project_id: CALLER.projectId,
      created_by: CALLER.actor,
      title: 'A task',
      description: null,
      task_type: taskType,
      metadata: JSON.stringify({ rehearsal }),
      callback_url: receiver === null ? null : `https://receiver-${receiver}/`,
      created_at: new Date(),
    };
    return { status: 201, body: await acceptRun(deps, { run, secret: secretOf(run.id), claim }) };
  }

  return {
    /** Returns the id of a run that is stored, counted from the newest; null if there is none. */
    runAt: (index: number): string | null => ids.at(-1 - (index % Math.max(1, ids.length))) ?? null,
    isWaiting: () => unanswered > 0,
    /** Does what an API process does at SIGTERM: it ends its requests, and starts the runs that it has stored. */
    async stop(process: Process): Promise<void> {
      const { requests, runStarter } = stateOf(process);
      await Promise.race([Promise.all(requests), clock.sleep(GRACE_MS)]);
      await runStarter.close();
    },

    submit(task: Submission, receivers: number): void {
      const receiver = task.receiver === null ? null : task.receiver % receivers;
      const submission = { ...task, receiver };
      const key = task.key === null ? null : `key-${task.key}-${JSON.stringify(submission)}`;
      const path = { method: 'POST', path: '/api/v1/tasks', caller: CALLER };
      for (let copy = 0; copy < task.copies; copy += 1) {
        const about = { operation: 'submit', executionId: '', key } as const;
        const request = key === null ? null : { ...path, given: key.slice(0, 5), body: submission };
        send(
          about,
          (deps) =>
            request
              ? once(request, (claim) => accept(deps, submission, claim))
              : accept(deps, submission, null),
          key !== null,
        );
      }
    },

    /** Remembers a run that the database has stored. */
    onStored(id: string): void {
      if (!ids.includes(id)) ids.push(id);
    },

    act(action: ActionRequest['action'], id: string): void {
      const question = openQuestionOf(memory.tables.runs.get(id) ?? {});
      const named = { id, reason: undefined };
      const request: ActionRequest =
        action === 'continue' ? { ...named, action, question } : { ...named, action };
      const about = { operation: action, executionId: id, key: null };
      send(about, (deps) => applyAction(deps, CALLER, request, UNLIMITED), false);
    },

    read(id: string): void {
      const about = { operation: 'read', executionId: id, key: null } as const;
      const work = async (deps: ApiDependencies) => {
        const row = await openRun(deps, CALLER, id);
        return { status: 200, body: await detailOf(deps, await readRun(deps, row)) };
      };
      send(about, work, false);
    },

    /** Requests a manual retry of a callback that has failed, if there is one. */
    retry(index: number): void {
      const failed = [...memory.tables.runs.values()].filter((row) => row.callback_status === 'failed');
      const { id: executionId } = failed[index % Math.max(1, failed.length)] ?? {};
      if (executionId === undefined) return;
      const about = { operation: 'retry', executionId, key: null } as const;
      const work = async () => {
        const retry = { executionId, retryId: newId('retry') };
        const by = { workspaceId: CALLER.workspaceId, actor: CALLER.actor, now: new Date() };
        if (!(await requestCallbackRetry(database, { ...retry, ...by }))) return { status: 409 };
        await control.retryCallback(retry).catch(() => {});
        return { status: 202 };
      };
      send(about, work, false);
    },
  };
}
