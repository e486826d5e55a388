import type { GroupEvent } from '../../src/database/webhooks/dispatch.ts';
import { isFirst } from './deliveries.ts';
import { compare, deliveriesWhere, type EventRow, type GroupRow, type Steps, type Tables } from './tables.ts';

type GroupSteps = Pick<
  Steps,
  | 'claimGroups'
  | 'findWaitingOfGroups'
  | 'listTargetsForGroups'
  | 'listUnfinishedGroups'
  | 'listUnstartedGroups'
  | 'markGroupsDone'
  | 'markGroupsStarted'
  | 'renewGroup'
>;

/** A group that started this long ago may have been dispatched by a version that claims nothing, in milliseconds. */
const STARTED_LONG_AGO_MS = 10_000;

/** Creates the steps that read and change groups of events. */
export function createGroupSteps(tables: Tables): GroupSteps {
  const { groups, events, webhooks } = tables;
  const some = (ids: readonly string[]) => [...new Set(ids)].flatMap((id) => groups.get(id) ?? []);
  const claimable = (ids: readonly string[], workflowId: string) =>
    some(ids).filter(({ claimed_by: by }) => by === null || by === workflowId);
  const eventsOf = (rows: readonly GroupRow[]) => {
    const ids = new Set(rows.map(({ id }) => id));
    return [...events.values()].filter(({ group_id: id }) => ids.has(id));
  };
  const oldestFirst = (matches: (row: GroupRow) => boolean, limit: number) =>
    [...groups.values()]
      .filter((row) => row.done_at === null && matches(row))
      .toSorted((one, other) => one.created_at.getTime() - other.created_at.getTime())
      .slice(0, limit);

  return {
    claimGroups(ids, workflowId) {
      const now = tables.now();
      const claimed = claimable(ids, workflowId).filter(({ done_at: doneAt }) => doneAt === null);
      for (const group of claimed) {
        const sinceMs = group.started_at === null ? 0 : now.getTime() - group.started_at.getTime();
        group.repeats ||= group.claimed_by !== null || sinceMs > STARTED_LONG_AGO_MS;
        group.started_at ??= now;
        group.claimed_by = workflowId;
      }
      const found = eventsOf(claimed).toSorted((one, other) => one.seq - other.seq);
      return {
        events: found.map(eventOf),
        isRepeat: found.length > 0 && claimed.some(({ repeats }) => repeats),
      };
    },

    findWaitingOfGroups(ids, workflowId) {
      const seqs = new Set(eventsOf(claimable(ids, workflowId)).map(({ seq }) => seq));
      const waiting = deliveriesWhere(tables, (row) => seqs.has(row.event_seq) && isFirst(row) && !row.test);
      return new Set(waiting.map(({ id }) => id));
    },

    listTargetsForGroups(ids) {
      const workspaces = new Set(eventsOf(some(ids)).map(({ workspace_id: id }) => id));
      const found = [...webhooks.values()]
        .filter((one) => workspaces.has(one.workspace_id) && one.deleted_at === null)
        .toSorted((one, other) => compare(one.id, other.id));
      return Map.groupBy(
        found.map((one) => ({ ...one })),
        ({ workspace_id: id }) => id,
      );
    },

    listUnstartedGroups({ before, handedBefore }, limit) {
      return oldestFirst(
        ({ started_at, created_at, handed_at }) =>
          started_at === null && created_at < before && (handed_at === null || handed_at < handedBefore),
        limit,
      ).map(({ id, events: count, bytes }) => ({ id, events: count, bytes }));
    },

    listUnfinishedGroups({ unclaimed, claimed }, limit) {
      return oldestFirst(
        ({ started_at: at, claimed_by: by }) => at !== null && at < (by === null ? unclaimed : claimed),
        limit,
      ).map(({ id, created_at: createdAt, started_at: at }) => ({
        id,
        createdAt,
        startedAt: at ?? createdAt,
      }));
    },

    markGroupsDone(ids, workflowId, now) {
      for (const group of claimable(ids, workflowId)) group.done_at ??= now;
    },

    markGroupsStarted(ids) {
      const now = tables.now();
      for (const group of some(ids)) {
        if (group.started_at !== null) continue;
        group.handed_at = now;
        if (group.id === ids[0]) group.started_at = now;
      }
    },

    renewGroup(id) {
      const group = groups.get(id);
      if (!group || group.done_at !== null) return;
      const now = tables.now();
      group.done_at = now;
      const newGroupId = tables.newId();
      for (const event of eventsOf([group])) event.group_id = newGroupId;
      const unstarted = { handed_at: null, started_at: null, done_at: null, claimed_by: null };
      groups.set(newGroupId, { ...group, ...unstarted, id: newGroupId, created_at: now, repeats: true });
    },
  };
}

function eventOf(row: EventRow): GroupEvent {
  const { seq, workspace_id, id, event, timestamp, body, received_at, traceparent } = row;
  return { seq, workspace_id, id, event, timestamp, body, received_at, traceparent };
}
