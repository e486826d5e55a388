import { createCounts } from '../common/counts.ts';

/** The webhook of an attempt, and its workspace. */
export type AttemptTarget = { webhookId: string; workspaceId: string };

/** The maximum number of concurrent attempts: of one webhook, of one workspace, of this process. */
export type AttemptLimits = { perWebhook: number; perWorkspace: number; overall: number };

/** An attempt that waits for its start, or runs. Times are milliseconds of the caller's clock. */
export type AttemptTicket = AttemptTarget & {
  /** When its wait ends unless it is prolonged. */
  dueAt: number;
  readonly waitMs: number;
  prolongations: number;
};

/**
 * How often the wait of an attempt is prolonged because attempts of its webhook end. So a burst waits for a receiver
 * that responds, but not for one that hangs.
 */
const MAX_PROLONGATIONS = 4;

/** The attempts of a workspace. `queues` holds those that wait, by webhook; the first webhook has the next turn. */
type Workspace = { running: number; queues: Map<string, AttemptTicket[]> };

/**
 * Decides which attempt starts next. It takes turns among workspaces, and among the webhooks of a workspace; attempts
 * of one webhook start in their order. Two rules keep slow receivers from taking every place:
 *
 * - A webhook may use all its places while at least half of its workspace's places are free. Below that, its share
 *   shrinks in proportion. The same applies to a workspace and the places of the process.
 * - A webhook without a running attempt may start one while any place of its workspace is free. A workspace without a
 *   running attempt may start one while any place of the process is free.
 *
 * So n webhooks whose receivers hang leave at least 1 / (1 + 2n × perWebhook / perWorkspace) of the workspace's places
 * free, until each of them has only its one place. Pure: the time is an argument, and the same calls give the same
 * order. The shares follow the dynamic thresholds of switch buffers (Choudhury and Hahne, 1998).
 */
export function createAttemptScheduler(limits: AttemptLimits) {
  /** Workspaces with something running or waiting; the first one has the next turn. */
  const workspaces = new Map<string, Workspace>();
  const runningOf = createCounts();
  /** When an attempt of a webhook finished last, for webhooks with something waiting. */
  const finishedAt = new Map<string, number>();
  let running = 0;
  let waiting = 0;

  /** Returns how many attempts of a workspace may run now, while any place of the process is free. */
  const workspacePlaces = () =>
    Math.max(1, share(limits.perWorkspace, limits.overall - running, limits.overall));

  /** Returns whether a webhook may start an attempt while `free` places of its workspace are free, at least one. */
  const mayStart = (webhookId: string, free: number) => {
    const used = runningOf.of(webhookId);
    return used === 0 || used < share(limits.perWebhook, free, limits.perWorkspace);
  };

  /** Removes the queue of a webhook with nothing waiting, and a workspace with nothing at all. */
  function tidy({ webhookId, workspaceId }: AttemptTarget, workspace: Workspace): void {
    if (workspace.queues.get(webhookId)?.length === 0) {
      workspace.queues.delete(webhookId);
      finishedAt.delete(webhookId);
    }
    if (workspace.running === 0 && workspace.queues.size === 0) workspaces.delete(workspaceId);
  }

  function workspaceOf(workspaceId: string): Workspace {
    const known = workspaces.get(workspaceId) ?? { running: 0, queues: new Map() };
    workspaces.set(workspaceId, known);
    return known;
  }

  function takeFirst(workspace: Workspace, webhookId: string, queue: AttemptTicket[]): AttemptTicket {
    const ticket = queue.shift() as AttemptTicket;
    waiting -= 1;
    running += 1;
    workspace.running += 1;
    runningOf.add(webhookId, 1);
    // Its turn is over: both move to the end of their queues.
    workspace.queues.delete(webhookId);
    if (queue.length > 0) workspace.queues.set(webhookId, queue);
    else finishedAt.delete(webhookId);
    workspaces.delete(ticket.workspaceId);
    workspaces.set(ticket.workspaceId, workspace);
    return ticket;
  }

  /** Removes a ticket that waits. */
  function remove(ticket: AttemptTicket): void {
    const workspace = workspaces.get(ticket.workspaceId);
    const queue = workspace?.queues.get(ticket.webhookId);
    if (!workspace || !queue?.includes(ticket)) return;
    queue.splice(queue.indexOf(ticket), 1);
    waiting -= 1;
    tidy(ticket, workspace);
  }

  return {
    /** Adds an attempt that waits for its start, at most `waitMs` unless its webhook makes progress. */
    add({ webhookId, workspaceId }: AttemptTarget, waitMs: number, now: number): AttemptTicket {
      const ticket: AttemptTicket = { webhookId, workspaceId, dueAt: now + waitMs, waitMs, prolongations: 0 };
      const { queues } = workspaceOf(workspaceId);
      const queue = queues.get(webhookId) ?? [];
      queue.push(ticket);
      queues.set(webhookId, queue);
      waiting += 1;
      return ticket;
    },

    /** Starts the attempt whose turn it is and returns it; null if none may start. */
    start(): AttemptTicket | null {
      if (waiting === 0 || running >= limits.overall) return null;
      for (const workspace of workspaces.values()) {
        const free = workspacePlaces() - workspace.running;
        if (free <= 0) continue;
        for (const [webhookId, queue] of workspace.queues) {
          if (mayStart(webhookId, free)) return takeFirst(workspace, webhookId, queue);
        }
      }
      return null;
    },

    /** Frees the place of an attempt that was started. */
    finish(ticket: AttemptTicket, now: number): void {
      const { webhookId, workspaceId } = ticket;
      const workspace = workspaceOf(workspaceId);
      runningOf.add(webhookId, -1);
      running -= 1;
      workspace.running -= 1;
      if (workspace.queues.has(webhookId)) finishedAt.set(webhookId, now);
      tidy(ticket, workspace);
    },

    /**
     * Removes a waiting attempt whose wait is over and returns true. Prolongs the wait and returns false if an attempt
     * of the same webhook has finished since, up to {@link MAX_PROLONGATIONS} times.
     */
    expire(ticket: AttemptTicket, now: number): boolean {
      if (now < ticket.dueAt) return false;
      const hasProgress =
        now - (finishedAt.get(ticket.webhookId) ?? Number.NEGATIVE_INFINITY) < ticket.waitMs;
      if (hasProgress && ticket.prolongations < MAX_PROLONGATIONS) {
        ticket.prolongations += 1;
        ticket.dueAt = now + ticket.waitMs;
        return false;
      }
      remove(ticket);
      return true;
    },

    /** Removes an attempt that waits and is not wanted any more. */
    remove,

    running: () => running,
    waiting: () => waiting,
  };
}

export type AttemptScheduler = ReturnType<typeof createAttemptScheduler>;

/** Returns the part of `limit` that may be used while `free` of `all` places are free: all of it down to half of them. */
function share(limit: number, free: number, all: number): number {
  return Math.min(limit, Math.floor((2 * limit * free) / all));
}
