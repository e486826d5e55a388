import assert from 'node:assert/strict';
import {
  createAttemptScheduler,
  type AttemptScheduler,
  type AttemptTicket,
} from '../../src/domain/webhooks/attempt-scheduler.ts';
import { createRandom, type Random } from '../support/random.ts';

const LONGEST_ATTEMPT_MS = 30_000;
const WAIT_MS = 1_000;

/** Starts every attempt that can start, and returns their tickets in order. */
function startAll(scheduler: AttemptScheduler): AttemptTicket[] {
  const started: AttemptTicket[] = [];
  for (let ticket = scheduler.start(); ticket; ticket = scheduler.start()) started.push(ticket);
  return started;
}

describe('the attempt scheduler', () => {
  it('keeps its limits, never idles and bounds waits in 1,000 random simulations', function () {
    this.timeout(60_000);
    for (let seed = 1; seed <= 1_000; seed += 1) {
      try {
        simulate(createRandom(seed));
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
  });
});

type Arrived = { ticket: AttemptTicket; at: number };

/** Simulates attempts to fast, slow and hanging receivers for two minutes. @throws if an invariant is violated */
function simulate(random: Random): void {
  const workspaceCount = random.whole(1, 4);
  const perWebhook = random.whole(1, 10);
  const perWorkspace = random.whole(perWebhook, 30);
  const isRoomy = random.next() < 0.5;
  const overall = isRoomy ? 2 * workspaceCount * perWorkspace : random.whole(perWorkspace, 2 * perWorkspace);
  const scheduler = createAttemptScheduler({ perWebhook, perWorkspace, overall });
  const webhooks = Array.from({ length: random.whole(1, 40) }, (_, n) => ({
    owner: { webhookId: `h${n}`, workspaceId: `w${random.whole(1, workspaceCount)}` },
    durationMs: random.of([5, 50, 1_000, 25_000, LONGEST_ATTEMPT_MS]),
  }));
  const durationOf = new Map(webhooks.map(({ owner, durationMs }) => [owner.webhookId, durationMs]));
  const running = new Map<AttemptTicket, number>();
  const waiting = new Map<string, Arrived[]>();
  const finishedAt = new Map<string, number>();
  let now = 0;

  function startAndCheck(): void {
    for (const ticket of startAll(scheduler)) {
      const queue = waiting.get(ticket.webhookId) ?? [];
      const first = queue.shift();
      assert.equal(first?.ticket, ticket, 'attempts of a webhook start in their order');
      if (queue.length === 0) waiting.delete(ticket.webhookId);
      running.set(ticket, now + (durationOf.get(ticket.webhookId) ?? 0));
    }
    check();
  }

  function check(): void {
    const counts = countsOf(running.keys());
    assert.ok(running.size <= overall && scheduler.running() === running.size, 'limit of the process');
    for (const [id, count] of counts.webhooks) assert.ok(count <= perWebhook, `limit of webhook ${id}`);
    for (const [id, count] of counts.workspaces) assert.ok(count <= perWorkspace, `limit of workspace ${id}`);
    for (const [id, [first]] of waiting) {
      assert.ok(first);
      const { workspaceId } = first.ticket;
      const ofWorkspace = counts.workspaces.get(workspaceId) ?? 0;
      if (!isRoomy || counts.webhooks.has(id)) continue;
      assert.equal(ofWorkspace, perWorkspace, `${id} has nothing running and waits although a place is free`);
      const rivals = webhooks.filter(({ owner }) => owner.workspaceId === workspaceId).length;
      const longest = LONGEST_ATTEMPT_MS * Math.ceil(rivals / perWorkspace);
      const waited = now - Math.max(first.at, finishedAt.get(id) ?? 0);
      assert.ok(waited <= longest, `${id} has waited ${waited} ms of ${longest} with nothing running`);
    }
    if (waiting.size > 0) assert.ok(running.size > 0, 'nothing runs although attempts wait');
  }

  while (now < 120_000) {
    const nextEnd = Math.min(...running.values());
    const nextArrival = now + random.whole(0, 2_000);
    now = Math.min(nextEnd, nextArrival);
    for (const [ticket, endsAt] of running) {
      if (endsAt > now) continue;
      running.delete(ticket);
      scheduler.finish(ticket, now);
      finishedAt.set(ticket.webhookId, now);
    }
    if (now === nextArrival) {
      const { owner } = random.of(webhooks);
      for (let burst = random.whole(1, 6); burst > 0; burst -= 1) {
        const ticket = scheduler.add(owner, WAIT_MS, now);
        waiting.set(owner.webhookId, [...(waiting.get(owner.webhookId) ?? []), { ticket, at: now }]);
      }
    }
    const [given] = random.next() < 0.02 ? [...waiting.values()] : [];
    const last = given?.pop();
    if (last) {
      scheduler.remove(last.ticket);
      if (given?.length === 0) waiting.delete(last.ticket.webhookId);
    }
    startAndCheck();
  }
}

function countsOf(tickets: Iterable<AttemptTicket>) {
  const counts = { webhooks: new Map<string, number>(), workspaces: new Map<string, number>() };
  for (const { webhookId, workspaceId } of tickets) {
    counts.webhooks.set(webhookId, (counts.webhooks.get(webhookId) ?? 0) + 1);
    counts.workspaces.set(workspaceId, (counts.workspaces.get(workspaceId) ?? 0) + 1);
  }
  return counts;
}
