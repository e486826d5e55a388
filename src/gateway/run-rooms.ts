import type { Database } from '../database/database.ts';
import { findRun, readView, type TaskRunRow } from '../database/tasks/task-runs.ts';
import type { TokenHolder } from '../database/people/token-holders.ts';
import type { RunView } from '../domain/tasks/task-run.ts';
import type { RoomOpener } from './rooms.ts';
import type { RunFeeds } from './run-feeds.ts';

type Dependencies = {
  database: Database;
  feeds: RunFeeds;
  /** The workflow's own answer; null where there is none in time. */
  askWorkflow(executionId: string): Promise<RunView | null>;
};

/** The rooms `workflow:<execution_id>`: a run as its workflow shows it, then its events by their `seq`. */
export function createRunRooms({ database, feeds, askWorkflow }: Dependencies): RoomOpener {
  const sharedReads = createSharedReads((row) =>
    readView(database, row, askWorkflow).then(({ view }) => view),
  );
  return {
    async open(holder, id, after) {
      const row = await findRun(database, id);
      if (!row || !isOpenTo(holder, row)) return 'forbidden';
      if (after !== null && after > row.last_seq) return 'invalid_message';
      const { last_seq, ...view } = await sharedReads.of(row);
      return {
        snapshot: { execution_id: id, ...view, last_seq },
        last_seq,
        follow: (connection) => feeds.follow(id, after ?? last_seq, connection),
      };
    },
    count: () => feeds.count(),
    close: () => feeds.close(),
  };
}

function isOpenTo({ projectId, scopes }: TokenHolder, row: TaskRunRow): boolean {
  return row.project_id === projectId && scopes.includes('tasks:read');
}

/** Many who come to a run at once share one question to its workflow, as long as nothing new is recorded of it. */
function createSharedReads(read: (row: TaskRunRow) => Promise<RunView>) {
  const inFlight = new Map<string, Promise<RunView>>();
  return {
    async of(row: TaskRunRow): Promise<RunView> {
      const key = `${row.id}:${row.last_seq}:${row.state}`;
      const shared = inFlight.get(key) ?? read(row).finally(() => inFlight.delete(key));
      inFlight.set(key, shared);
      return await shared;
    },
  };
}
