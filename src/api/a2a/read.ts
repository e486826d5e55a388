import type { Message, Task } from '@a2a-js/sdk';
import { listLastEventsOf } from '../../database/tasks/feed.ts';
import type { RunWithView } from '../../database/tasks/run-views.ts';
import { MAX_A2A_HISTORY } from '../../domain/common/limits.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import type { FeedEvent } from '../../domain/tasks/feed-events.ts';
import type { Dependencies } from '../dependencies.ts';
import { statusUrl } from '../tasks/presenter.ts';
import { artifactsOf, type KnownArtifact } from './artifacts.ts';
import { HISTORY_EVENTS, historyOf, outputArtifact, taskOf } from './mapping.ts';

/** The parts of a task in addition to its status. `historyLength`: undefined is as many as possible. */
type Wanted = { historyLength: number | undefined; artifacts: readonly KnownArtifact[] };

/** Returns the task of a run with its documents. */
export async function fullTask(
  deps: Dependencies,
  reading: RunWithView,
  historyLength: number | undefined,
): Promise<Task> {
  return await readTask(deps, reading, { historyLength, artifacts: await artifactsOf(deps, reading.row) });
}

/** Returns the task of a run with the given documents, and the output of an ended run. */
export async function readTask(
  { database, baseUrl }: Pick<Dependencies, 'database' | 'baseUrl'>,
  { row, view }: RunWithView,
  { historyLength = MAX_A2A_HISTORY, artifacts }: Wanted,
): Promise<Task> {
  const limit = Math.min(historyLength, MAX_A2A_HISTORY);
  const events = await listLastEventsOf(database, row.id, {
    types: HISTORY_EVENTS,
    last: view.last_seq,
    limit,
  });
  const output = isTerminal(view.state) ? outputArtifact(view) : null;
  return taskOf({
    row,
    view,
    lastChange: await lastChange(database, row.id, view.last_seq),
    history: lastOf(historyOf(row, events), limit),
    artifacts: [...artifacts.map(({ artifact }) => artifact), ...(output ? [output] : [])],
    statusUrl: statusUrl(baseUrl, row.id),
  });
}

/** Returns the last change of state up to an event; null if there is none. */
export async function lastChange(
  database: Dependencies['database'],
  executionId: string,
  last: number,
): Promise<FeedEvent | null> {
  const found = await listLastEventsOf(database, executionId, { types: ['state.changed'], last, limit: 1 });
  return found[0] ?? null;
}

function lastOf(messages: Message[], count: number): Message[] {
  return count === 0 ? [] : messages.slice(-count);
}
