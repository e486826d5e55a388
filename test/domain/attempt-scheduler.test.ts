import assert from 'node:assert/strict';
import {
  createAttemptScheduler,
  type AttemptLimits,
  type AttemptScheduler,
  type AttemptTicket,
} from '../../src/domain/webhooks/attempt-scheduler.ts';

const WAIT_MS = 1_000;
const LIMITS: AttemptLimits = { perWebhook: 10, perWorkspace: 400, overall: 1_000 };

/** Starts every attempt that can start, and returns their tickets in order. */
function startAll(scheduler: AttemptScheduler): AttemptTicket[] {
  const started: AttemptTicket[] = [];
  for (let ticket = scheduler.start(); ticket; ticket = scheduler.start()) started.push(ticket);
  return started;
}

const webhooksOf = (tickets: readonly AttemptTicket[]) => tickets.map(({ webhookId }) => webhookId);

function addMany(scheduler: AttemptScheduler, count: number, webhookId: string, workspaceId = 'w'): void {
  for (let n = 0; n < count; n += 1) scheduler.add({ webhookId, workspaceId }, WAIT_MS, 0);
}

describe('the attempt scheduler', () => {
  it('starts as many attempts of a webhook at once as its limit allows', () => {
    const scheduler = createAttemptScheduler(LIMITS);
    addMany(scheduler, 25, 'a');
    assert.equal(startAll(scheduler).length, 10);
    assert.equal(scheduler.waiting(), 15);
  });

  it('gives a free place to the next webhook, not to the one that freed it', () => {
    const scheduler = createAttemptScheduler({ perWebhook: 10, perWorkspace: 20, overall: 100 });
    for (const webhook of ['a', 'b']) addMany(scheduler, 100, webhook);
    const busy = startAll(scheduler);
    for (const webhook of ['c', 'd']) addMany(scheduler, 100, webhook);
    startAll(scheduler);
    const [first] = busy;
    assert.ok(first);
    scheduler.finish(first, 1);
    const [next] = startAll(scheduler);
    assert.notEqual(next?.webhookId, first.webhookId);
  });

  it('reserves places for other webhooks if two could fill their workspace', () => {
    const scheduler = createAttemptScheduler({ perWebhook: 10, perWorkspace: 20, overall: 100 });
    for (const webhook of ['a', 'b']) addMany(scheduler, 100, webhook);
    startAll(scheduler);
    for (const webhook of ['c', 'd']) addMany(scheduler, 100, webhook);
    assert.deepEqual(new Set(webhooksOf(startAll(scheduler))), new Set(['c', 'd']));
  });

  it('reserves a place for each of 60 webhooks while the receivers of 40 others hang', () => {
    const scheduler = createAttemptScheduler(LIMITS);
    for (let n = 0; n < 40; n += 1) addMany(scheduler, 100, `slow ${n}`);
    startAll(scheduler);
    for (let n = 0; n < 60; n += 1) addMany(scheduler, 1, `good ${n}`);
    assert.equal(startAll(scheduler).filter(({ webhookId }) => webhookId.startsWith('good')).length, 60);
  });

  it('reserves places for another workspace if three could fill the process', () => {
    const scheduler = createAttemptScheduler(LIMITS);
    for (let n = 0; n < 300; n += 1) addMany(scheduler, 100, `slow ${n}`, `workspace ${n % 3}`);
    startAll(scheduler);
    for (let n = 0; n < 20; n += 1) addMany(scheduler, 1, `good ${n}`, 'another');
    assert.equal(startAll(scheduler).length, 20);
  });

  it('gives the last place of the process to a workspace with nothing running', () => {
    const scheduler = createAttemptScheduler({ perWebhook: 4, perWorkspace: 4, overall: 10 });
    for (let n = 0; n < 9; n += 1) addMany(scheduler, 10, `a${n}`, `w${n}`);
    assert.equal(startAll(scheduler).length, 9);
    addMany(scheduler, 10, 'b', 'another');
    assert.deepEqual(webhooksOf(startAll(scheduler)), ['b']);
  });

  it('alternates between workspaces, and between the webhooks of a workspace', () => {
    const scheduler = createAttemptScheduler(LIMITS);
    addMany(scheduler, 4, 'a', 'one');
    addMany(scheduler, 4, 'b', 'one');
    addMany(scheduler, 4, 'c', 'two');
    assert.deepEqual(webhooksOf(startAll(scheduler)).slice(0, 6), ['a', 'c', 'b', 'c', 'a', 'c']);
  });

  it('removes an attempt whose wait is over, unless its webhook makes progress', () => {
    const scheduler = createAttemptScheduler({ perWebhook: 1, perWorkspace: 10, overall: 10 });
    const owner = { webhookId: 'a', workspaceId: 'w' };
    scheduler.add(owner, 1_000, 0);
    const [first] = startAll(scheduler);
    const [second, third] = [scheduler.add(owner, 1_000, 0), scheduler.add(owner, 1_000, 0)];
    assert.equal(scheduler.expire(second, 999), false, 'its wait is not over');
    assert.ok(first);
    scheduler.finish(first, 999);
    assert.deepEqual(startAll(scheduler), [second]);
    assert.equal(scheduler.expire(third, 1_000), false, 'an attempt of its webhook has finished');
    assert.equal(third.dueAt, 2_000);
    assert.equal(scheduler.expire(third, 2_000), true);
    assert.equal(scheduler.waiting(), 0);
  });

  it('prolongs a wait at most four times', () => {
    const scheduler = createAttemptScheduler({ perWebhook: 1, perWorkspace: 10, overall: 10 });
    const owner = { webhookId: 'a', workspaceId: 'w' };
    addMany(scheduler, 10, 'a');
    const last = scheduler.add(owner, 1_000, 0);
    let now = 0;
    const expired: boolean[] = [];
    for (let round = 0; round < 5; round += 1) {
      now += 1_000;
      const [running] = startAll(scheduler);
      assert.ok(running);
      scheduler.finish(running, now);
      expired.push(scheduler.expire(last, now));
    }
    assert.deepEqual(expired, [false, false, false, false, true]);
  });

  it('forgets a webhook with nothing running and nothing waiting', () => {
    const scheduler = createAttemptScheduler(LIMITS);
    const owner = { webhookId: 'a', workspaceId: 'w' };
    const waiting = scheduler.add(owner, WAIT_MS, 0);
    scheduler.remove(waiting);
    scheduler.remove(waiting);
    assert.deepEqual([scheduler.waiting(), scheduler.running(), scheduler.start()], [0, 0, null]);
  });

  it('uses all places of a webhook while half of those of its workspace are free, then a smaller share', () => {
    const scheduler = createAttemptScheduler({ perWebhook: 4, perWorkspace: 8, overall: 100 });
    addMany(scheduler, 10, 'a');
    assert.equal(startAll(scheduler).length, 4, 'four of eight are free');
    addMany(scheduler, 10, 'b');
    assert.equal(startAll(scheduler).length, 2, 'its share of the two that are then free');
    addMany(scheduler, 10, 'c');
    assert.equal(startAll(scheduler).length, 1, 'its share of one is one');
    for (const webhook of ['d', 'e']) addMany(scheduler, 10, webhook);
    assert.deepEqual(webhooksOf(startAll(scheduler)), ['d'], 'the last place');
    assert.deepEqual([scheduler.running(), scheduler.waiting()], [8, 42]);
  });

  it('uses all places of a workspace while half of those of the process are free, then a smaller share', () => {
    const scheduler = createAttemptScheduler({ perWebhook: 1, perWorkspace: 4, overall: 8 });
    const add = (workspace: string) => {
      for (let n = 0; n < 10; n += 1)
        scheduler.add({ webhookId: `${workspace}${n}`, workspaceId: workspace }, WAIT_MS, 0);
    };
    const counts: number[] = [];
    for (const workspace of ['a', 'b', 'c', 'd', 'e']) {
      add(workspace);
      counts.push(startAll(scheduler).length);
    }
    assert.deepEqual(counts, [4, 2, 1, 1, 0]);
    assert.equal(scheduler.start(), null, 'the process is full');
  });

  it('is not full after attempts have finished', () => {
    const scheduler = createAttemptScheduler({ perWebhook: 2, perWorkspace: 2, overall: 2 });
    addMany(scheduler, 6, 'a');
    const started: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const tickets = startAll(scheduler);
      started.push(tickets.length);
      for (const ticket of tickets) scheduler.finish(ticket, round);
    }
    assert.deepEqual(started, [2, 2, 2, 0]);
    assert.deepEqual([scheduler.running(), scheduler.waiting()], [0, 0]);
  });

  it('does not prolong a wait for progress before the wait, or after the webhook had nothing waiting', () => {
    const owner = { webhookId: 'a', workspaceId: 'w' };
    const scheduler = createAttemptScheduler({ perWebhook: 1, perWorkspace: 10, overall: 10 });
    const tickets = [1, 2, 3].map(() => scheduler.add(owner, 1_000, 0));
    const [running] = startAll(scheduler);
    assert.ok(running && tickets[1]);
    scheduler.finish(running, 100);
    assert.equal(scheduler.expire(tickets[1], 1_100), true, 'it finished a whole wait ago');
    const other = createAttemptScheduler({ perWebhook: 1, perWorkspace: 10, overall: 10 });
    other.add(owner, 1_000, 0);
    const [first] = startAll(other);
    assert.ok(first);
    other.finish(first, 900);
    const late = other.add(owner, 1_000, 900);
    assert.equal(other.expire(late, 1_900), true, 'nothing was waiting then');
  });

  it('starts others after the only waiting attempt of a webhook was removed', () => {
    const scheduler = createAttemptScheduler(LIMITS);
    const removed = scheduler.add({ webhookId: 'a', workspaceId: 'w' }, WAIT_MS, 0);
    addMany(scheduler, 1, 'b');
    scheduler.remove(removed);
    assert.deepEqual(webhooksOf(startAll(scheduler)), ['b']);
  });

  it('counts what a workspace still runs after one of its attempts has finished', () => {
    const scheduler = createAttemptScheduler({ perWebhook: 2, perWorkspace: 2, overall: 10 });
    addMany(scheduler, 1, 'a');
    addMany(scheduler, 1, 'b');
    const [first] = startAll(scheduler);
    assert.ok(first);
    scheduler.finish(first, 1);
    for (const webhook of ['c', 'd']) addMany(scheduler, 1, webhook);
    assert.deepEqual(webhooksOf(startAll(scheduler)), ['c']);
  });

  it('puts a workspace that comes back behind those that wait', () => {
    const scheduler = createAttemptScheduler({ perWebhook: 1, perWorkspace: 1, overall: 1 });
    const runOne = (workspaceId: string) => {
      scheduler.add({ webhookId: workspaceId, workspaceId }, WAIT_MS, 0);
      const [ticket] = startAll(scheduler);
      assert.ok(ticket);
      return ticket;
    };
    scheduler.finish(runOne('a'), 1);
    const busy = runOne('x');
    for (const workspaceId of ['b', 'a']) scheduler.add({ webhookId: workspaceId, workspaceId }, WAIT_MS, 2);
    scheduler.finish(busy, 3);
    assert.deepEqual(webhooksOf(startAll(scheduler)), ['b']);
  });

  it('expires an attempt exactly when its wait is over', () => {
    const scheduler = createAttemptScheduler(LIMITS);
    const ticket = scheduler.add({ webhookId: 'a', workspaceId: 'w' }, 1_000, 5);
    assert.deepEqual([ticket.dueAt, ticket.waitMs, ticket.prolongations], [1_005, 1_000, 0]);
    assert.equal(scheduler.expire(ticket, 1_004), false);
    assert.equal(scheduler.waiting(), 1);
    assert.equal(scheduler.expire(ticket, 1_005), true);
    assert.equal(scheduler.waiting(), 0);
  });

  it('removes one of several waiting attempts, and starts the others in their order', () => {
    const scheduler = createAttemptScheduler(LIMITS);
    const owner = { webhookId: 'a', workspaceId: 'w' };
    const [one, two, three] = [1, 2, 3].map(() => scheduler.add(owner, WAIT_MS, 0));
    assert.ok(two);
    scheduler.remove(two);
    scheduler.remove(two);
    assert.equal(scheduler.waiting(), 2);
    assert.deepEqual(startAll(scheduler), [one, three]);
    scheduler.remove(two);
    assert.deepEqual([scheduler.waiting(), scheduler.running()], [0, 2]);
  });
});
