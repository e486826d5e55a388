/** Who wants to be let through: a webhook, of a workspace. */
export type Comer = { webhookId: string; workspaceId: string };

/** How many attempts may be under way at once, in this process. */
export type GateLimits = { perWebhook: number; perWorkspace: number; overall: number };

/** Lets attempts through, as many at once as the limits allow; waiting ones of a webhook in the order they came. */
export type Gate = {
  /**
   * Resolves with the way out once there is room. With `waitMs` it resolves with null where it has waited so long and
   * nobody of its webhook has come out meanwhile, and after five times as long in any case: a burst for a receiver
   * that answers is waited for, one that hangs is not. With null it waits for as long as it takes.
   */
  enter(comer: Comer, waitMs: number | null): Promise<(() => void) | null>;
  /** How many are inside. */
  inside(): number;
};

type Waiting = { comer: Comer; enter: (leave: (() => void) | null) => void; timer: NodeJS.Timeout | null };

const LONGEST_WAITS = 5;

/** A gate; a webhook that is full holds up nobody else, whoever came first. */
export function createGate(limits: GateLimits): Gate {
  const webhooks = new Map<string, number>();
  const workspaces = new Map<string, number>();
  const queues = new Map<string, Waiting[]>();
  /** When somebody of a webhook came out last, for those that somebody waits for. */
  const lastOut = new Map<string, number>();
  let inside = 0;

  const isRoom = ({ webhookId, workspaceId }: Comer) =>
    inside < limits.overall &&
    (webhooks.get(webhookId) ?? 0) < limits.perWebhook &&
    (workspaces.get(workspaceId) ?? 0) < limits.perWorkspace;

  function letIn(comer: Comer): () => void {
    inside += 1;
    add(webhooks, comer.webhookId, 1);
    add(workspaces, comer.workspaceId, 1);
    let isOut = false;
    return () => {
      if (isOut) return;
      isOut = true;
      const wasFull = inside >= limits.overall || workspaces.get(comer.workspaceId) === limits.perWorkspace;
      inside -= 1;
      add(webhooks, comer.webhookId, -1);
      add(workspaces, comer.workspaceId, -1);
      if (queues.has(comer.webhookId)) lastOut.set(comer.webhookId, performance.now());
      admit(comer.webhookId);
      // Where an outer limit was the obstacle, the others come by turns. Who is admitted goes to the end of the row.
      const others = wasFull ? Array.from(queues.keys()) : [];
      for (const webhookId of others) admit(webhookId);
    };
  }

  function admit(webhookId: string): void {
    const queue = queues.get(webhookId);
    if (!queue) return;
    for (let first = queue[0]; first && isRoom(first.comer); first = queue[0]) {
      queue.shift();
      if (first.timer) clearTimeout(first.timer);
      first.enter(letIn(first.comer));
    }
    // Whoever was served goes to the end of the row.
    queues.delete(webhookId);
    if (queue.length > 0) queues.set(webhookId, queue);
    else lastOut.delete(webhookId);
  }

  function giveUp(waiting: Waiting): void {
    const { webhookId } = waiting.comer;
    const own = queues.get(webhookId) ?? [];
    const place = own.indexOf(waiting);
    if (place >= 0) own.splice(place, 1);
    if (own.length === 0) {
      queues.delete(webhookId);
      lastOut.delete(webhookId);
    }
    waiting.enter(null);
  }

  /** Looks after each wait whether it is worth another one. */
  function watch(waiting: Waiting, waitMs: number, left: number): void {
    waiting.timer = setTimeout(() => {
      const isMoving =
        performance.now() - (lastOut.get(waiting.comer.webhookId) ?? Number.NEGATIVE_INFINITY) < waitMs;
      if (isMoving && left > 0) watch(waiting, waitMs, left - 1);
      else giveUp(waiting);
    }, waitMs);
  }

  return {
    async enter(comer, waitMs) {
      const queue = queues.get(comer.webhookId);
      if (!queue && isRoom(comer)) return letIn(comer);
      const { promise, resolve } = Promise.withResolvers<(() => void) | null>();
      const waiting: Waiting = { comer, enter: resolve, timer: null };
      if (waitMs !== null) watch(waiting, waitMs, LONGEST_WAITS - 1);
      if (queue) queue.push(waiting);
      else queues.set(comer.webhookId, [waiting]);
      return await promise;
    },
    inside: () => inside,
  };
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
