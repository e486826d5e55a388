import type { StreamResponse } from '@a2a-js/sdk';
import { FIRST_STANDING, headOf, standingAfter, updateOf, type Standing } from '../../agents/a2a-updates.ts';
import { listEventsAfter } from '../../database/tasks/feed.ts';
import { viewOfRow } from '../../database/tasks/run-views.ts';
import { findRun, type TaskRunRow } from '../../database/tasks/task-runs.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { watchCredential } from '../http/credential-watch.ts';
import { createFeedSignal } from '../tasks/wait.ts';
import { artifactsOf } from './artifacts.ts';
import { artifactUpdateOf, outputArtifact } from './mapping.ts';
import { lastChange, readTask } from './read.ts';

const BATCH = 500;
/** How often a quiet feed is read again without a notification, in milliseconds. */
const RECHECK_MS = 15_000;

/** A stream of one task. `after`: the last event that the client has; null: it has none, the task is enough. */
export type TaskStream = {
  caller: Caller;
  row: TaskRunRow;
  after: number | null;
  historyLength: number | undefined;
  signal: AbortSignal;
};

/** Events after which there may be new documents. */
const SAVING = new Set(['step.completed', 'step.failed', 'escalation.requested', 'run.ended']);

/**
 * Follows a run: its task, then each event of its feed after the position of the task, or after `after`, until the run
 * has ended or the caller's credential ends. Nothing is missing between the task and the first event.
 */
export async function* taskStream(deps: Dependencies, stream: TaskStream): AsyncGenerator<StreamResponse> {
  const { caller, row: first, signal } = stream;
  const { database } = deps;
  const head = headOf(first);
  const feedSignal = createFeedSignal(deps, first.id, signal);
  const credential = watchCredential(deps, caller, feedSignal.wake);
  try {
    // Read again: the run may have changed between the first read and the subscription.
    const row = (await findRun(database, first.id)) ?? first;
    const view = viewOfRow(row);
    const artifacts = await artifactsOf(deps, row);
    const known = new Map(artifacts.map(({ artifact, sha256 }) => [artifact.artifactId, sha256]));
    const task = await readTask(deps, { row, view }, { historyLength: stream.historyLength, artifacts });
    yield { payload: { $case: 'task', value: task } };
    // The view does not count progress, the row does.
    let sent = Math.min(stream.after ?? view.last_seq, row.last_seq);
    if (isTerminal(view.state) && sent >= view.last_seq) return;
    let standing = await standingAt(deps, row.id, sent);
    while (!signal.aborted && (await credential.isValid())) {
      // The status is read first: all events until then are among the events read after it.
      const current = await deps.readRunStatus(row.id);
      const events = await listEventsAfter(database, row.id, sent, BATCH);
      for (const event of events) {
        if (SAVING.has(event.type)) yield* newArtifacts(event.type === 'run.ended');
        const update = updateOf(head, event, standing);
        if (update) yield update;
        if (event.type === 'run.ended') return;
        standing = standingAfter(standing, event);
        sent = event.seq;
      }
      if (events.length === BATCH) continue;
      // The client may have the end already, or the run was erased.
      if (current === null || isTerminal(current.state)) return;
      await feedSignal.wait(RECHECK_MS);
    }

    async function* newArtifacts(isOver: boolean): AsyncGenerator<StreamResponse> {
      const now = (await findRun(database, row.id)) ?? row;
      for (const { artifact, sha256 } of await artifactsOf(deps, now, known)) {
        known.set(artifact.artifactId, sha256);
        yield artifactUpdateOf(head, artifact);
      }
      const output = isOver ? outputArtifact(viewOfRow(now)) : null;
      if (output) yield artifactUpdateOf(head, output);
    }
  } finally {
    credential.close();
    feedSignal.close();
  }
}

async function standingAt({ database }: Dependencies, id: string, seq: number): Promise<Standing> {
  const change = await lastChange(database, id, seq);
  return change ? standingAfter(FIRST_STANDING, change) : FIRST_STANDING;
}
