import type { Database } from '../database/database.ts';
import { readView } from '../database/tasks/run-views.ts';
import { findRun, type TaskRunRow } from '../database/tasks/task-runs.ts';
import { ROOM_SCOPES } from '../domain/channel/channel.ts';
import type { TokenHolder } from '../database/people/token-holders.ts';
import type { RunView } from '../domain/tasks/run-schemas.ts';
import type { RoomOpener } from './rooms.ts';
import type { RunFeeds } from './run-feeds.ts';

type Dependencies = {
  database: Database;
  feeds: RunFeeds;
  /** Queries the workflow; null if it does not respond in time. */
  askWorkflow(executionId: string): Promise<RunView | null>;
};

/** Creates the rooms `workflow:<execution_id>`: the view of the workflow, then events by their `seq`. */
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
  return row.project_id === projectId && scopes.includes(ROOM_SCOPES.workflow);
}

/** Shares one query of the workflow among viewers that join at once, as long as nothing new is recorded. */
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
