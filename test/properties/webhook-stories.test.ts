import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { Delivery } from '../../src/database/webhooks/entities.ts';
import { FAILURES_TO_DISABLE } from '../../src/domain/common/limits.ts';
import { DELIVERY_ATTEMPTS } from '../../src/domain/common/retry-schedules.ts';
import { connectTemporal, type Engine } from '../../src/runtime/temporal.ts';
import { createDeliveryControl } from '../../src/temporal/delivery-control.ts';
import { deliveryWorkflowId } from '../../src/temporal/delivery-messages.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useWorld } from '../support/world.ts';
import { actionsOf, holdsAsync, type ActionOf, type PlansOf } from './property.ts';

/*
 * Random stories of webhooks over the API with a real receiver, compared with a small model of docs/webhooks.md. Time passes for
 * one delivery at once, until its next automatic retry. The first one is due after a minute. So a story that takes longer shows
 * nothing.
 */

const STORIES = 12;
const FIRST_RETRY_MS = 55_000;
/** How long the API may take to get to the state of the model, in milliseconds. */
const LONGEST_MS = 35_000;

type Status = 'succeeded' | 'retrying' | 'failed' | 'held' | 'skipped' | 'cancelled';
/** `failures`: of its schedule. */
type ModelDelivery = { status: Status; attempts: number; failures: number; priority: string };
type ModelWebhook = {
  id: string;
  path: string;
  priority: string | null;
  isGood: boolean;
  active: boolean;
  disabled: boolean;
  failures: number;
  isDeleted: boolean;
  /** By event id. */
  deliveries: Map<string, ModelDelivery>;
};

/** A webhook or a delivery; the index counts modulo their number. */
const which = fc.nat(7);
const priority = fc.constantFrom('High', 'Low');
const ACTIONS = {
  create: [2, fc.record({ priority: fc.option(priority), isGood: fc.boolean() })],
  send: [6, fc.record({ priority, count: fc.integer({ min: 1, max: 5 }) })],
  sendAgain: [1, fc.record({ which, isSame: fc.boolean() })],
  retry: [3, fc.record({ which, delivery: which })],
  passUntilRetry: [5, fc.record({ which, delivery: which })],
  breakOrRepair: [2, fc.record({ which })],
  activate: [3, fc.record({ which, active: fc.boolean() })],
  recover: [2, fc.record({ which, withSkipped: fc.boolean() })],
  delete: [1, fc.record({ which })],
} as const;
type Plans = PlansOf<typeof ACTIONS>;
type Action = ActionOf<typeof ACTIONS>;
const action = actionsOf(ACTIONS);

describe('webhooks and their deliveries', function () {
  this.timeout(600_000);
  const world = useWorld();
  const receiver = useReceiver();
  let engine: Required<Engine>;
  let stories = 0;
  before(async () => {
    engine = await connectTemporal();
  });
  after(() => engine?.connection.close());

  it('do what the documents say, for random stories', async () => {
    const told = { whole: 0 };
    await holdsAsync(
      [fc.array(action, { minLength: 4, maxLength: 20 })],
      (actions) => tell(actions, told),
      STORIES,
    );
    assert.ok(told.whole > 0, 'every story took longer than a minute');
  });

  async function tell(actions: Action[], told: { whole: number }): Promise<void> {
    const began = Date.now();
    const story = createStory((stories += 1));
    receiver.answering(({ url }) => (story.isGood(url) ? 204 : 500));
    try {
      // Each story begins with a receiver that works, and one that has failed once.
      const begin: Action[] = [
        { kind: 'create', plan: { priority: null, isGood: true } },
        { kind: 'create', plan: { priority: null, isGood: false } },
        { kind: 'send', plan: { priority: 'High', count: 1 } },
      ];
      for (const one of [...begin, ...actions]) {
        await story.apply(one);
        await story.settles(`the state after ${JSON.stringify(one)}`);
      }
      // What was late would have arrived by now.
      assert.deepEqual(await story.differences(), []);
      story.checkRequests();
      told.whole += 1;
    } catch (error) {
      if (Date.now() - began < FIRST_RETRY_MS) throw error;
    } finally {
      await story.end();
    }
  }

  function createStory(number: number) {
    const since = new Date();
    const webhooks: ModelWebhook[] = [];
    const events: { id: string; priority: string }[] = [];
    const before = receiver.requests.length;
    const live = () => webhooks.filter(({ isDeleted }) => !isDeleted);
    const webhookAt = (index: number) => live()[index % Math.max(live().length, 1)];
    const receives = ({ active, disabled }: ModelWebhook) => active && !disabled;

    /** An attempt in the model. */
    function attempt(webhook: ModelWebhook, delivery: ModelDelivery, trigger: 'automatic' | 'manual'): void {
      delivery.attempts += 1;
      if (webhook.isGood) {
        delivery.status = 'succeeded';
        webhook.failures = 0;
        return;
      }
      if (trigger === 'automatic') {
        delivery.failures += 1;
        delivery.status = delivery.failures < DELIVERY_ATTEMPTS ? 'retrying' : 'failed';
      }
      webhook.failures += 1;
      if (webhook.failures < FAILURES_TO_DISABLE) return;
      webhook.disabled = true;
      for (const one of webhook.deliveries.values()) if (one.status === 'retrying') one.status = 'held';
    }

    function deliver(webhook: ModelWebhook, event: { id: string; priority: string }): void {
      const delivery: ModelDelivery = {
        status: 'skipped',
        attempts: 0,
        failures: 0,
        priority: event.priority,
      };
      webhook.deliveries.set(event.id, delivery);
      if (webhook.priority !== null && webhook.priority !== event.priority) return;
      if (webhook.disabled) delivery.status = 'held';
      else if (webhook.active) attempt(webhook, delivery, 'automatic');
    }

    const send = (event: { id: string; priority: string }, title = 'An issue') =>
      world.send('POST', '/api/v1/events', {
        body: {
          id: event.id,
          event: 'issue.created',
          data: { issue: { id: 'i', title, priority: event.priority } },
        },
      });
    const deliveriesOf = async ({ id }: ModelWebhook) =>
      (await world.send('GET', `/api/v1/webhooks/${id}/deliveries?limit=200`)).json.data as {
        id: string;
        event_id: string;
        status: string;
        attempts_count: number;
      }[];

    /**
     * Lets time pass until the next automatic retry of a delivery is overdue. Its workflow waits in real time, so it is replaced
     * as after an operator has terminated it.
     */
    async function endWait(deliveryId: string): Promise<void> {
      const em = world.database.em.fork();
      const { generation } = await eventually('the retries are started', async () => {
        const { retry_started: isStarted, ...row } = await em.refreshOrFail(
          await em.findOneOrFail(Delivery, deliveryId),
        );
        return isStarted && row;
      });
      const schedule = { deliveryId, generation };
      await em.nativeUpdate(Delivery, { id: deliveryId }, { next_attempt_at: new Date() });
      await engine.client.workflow.getHandle(deliveryWorkflowId(schedule)).terminate();
      await createDeliveryControl({
        client: engine.client,
        taskQueue: world.configuration.taskQueue,
      }).startOverdueRetries(schedule);
    }

    const act: { [Kind in keyof Plans]: (plan: Plans[Kind]) => Promise<void> } = {
      async create({ priority: wanted, isGood }) {
        const path = `/${number}-${webhooks.length}`;
        const filters = wanted === null ? [] : [{ field: 'priority', values: [wanted] }];
        const body = {
          name: path,
          url: `${receiver.url}${path}`,
          secret: 'a secret',
          events: [{ event: 'issue.created', filters }],
        };
        const { status, json } = await world.send('POST', '/api/v1/webhooks', { body });
        assert.equal(status, 201);
        const state = { active: true, disabled: false, failures: 0, isDeleted: false };
        webhooks.push({ id: json.id, path, priority: wanted, isGood, ...state, deliveries: new Map() });
      },
      async send({ priority: given, count }) {
        for (let sent = 0; sent < count; sent += 1) {
          const event = { id: `story-${since.getTime()}-${number}-${events.length}`, priority: given };
          const { status, json } = await send(event);
          assert.deepEqual([status, json.duplicate], [202, false]);
          events.push(event);
          for (const webhook of live()) deliver(webhook, event);
          // One after another, so that it is clear which attempt is the tenth failure.
          await settles('the event is delivered');
        }
      },
      async sendAgain({ which: index, isSame }) {
        const event = events[index % Math.max(events.length, 1)];
        if (event === undefined) return;
        const { status, json } = await send(event, isSame ? undefined : 'Another title');
        assert.deepEqual([status, json.duplicate], isSame ? [202, true] : [409, undefined]);
      },
      async retry({ which: index, delivery: of }) {
        const webhook = webhookAt(index);
        const [eventId, delivery] =
          [...(webhook?.deliveries ?? [])][of % Math.max(webhook?.deliveries.size ?? 1, 1)] ?? [];
        if (webhook === undefined || delivery === undefined) return;
        const row = (await deliveriesOf(webhook)).find(({ event_id: id }) => id === eventId);
        const { status } = await world.send('POST', `/api/v1/deliveries/${row?.id}/retry`);
        assert.equal(status, receives(webhook) ? 202 : 409);
        if (status === 202) attempt(webhook, delivery, 'manual');
      },
      async passUntilRetry({ which: index, delivery: of }) {
        const webhook = webhookAt(index);
        if (webhook === undefined) return;
        const retrying = [...webhook.deliveries].filter(([, { status }]) => status === 'retrying');
        const [eventId, delivery] = retrying[of % Math.max(retrying.length, 1)] ?? [];
        if (delivery === undefined) return;
        const { id = '' } = (await deliveriesOf(webhook)).find(({ event_id }) => event_id === eventId) ?? {};
        await endWait(id);
        if (webhook.active) attempt(webhook, delivery, 'automatic');
        else delivery.status = 'skipped';
      },
      async breakOrRepair({ which: index }) {
        const webhook = webhookAt(index);
        if (webhook !== undefined) webhook.isGood = !webhook.isGood;
      },
      async activate({ which: index, active }) {
        const webhook = webhookAt(index);
        if (webhook === undefined) return;
        const { status } = await world.send('PATCH', `/api/v1/webhooks/${webhook.id}`, { body: { active } });
        assert.equal(status, 200);
        if (active && !receives(webhook)) Object.assign(webhook, { disabled: false, failures: 0 });
        webhook.active = active;
      },
      async recover({ which: index, withSkipped }) {
        const webhook = webhookAt(index);
        // A recovery to a bad receiver stops when it is disabled. The order of its attempts is not defined.
        if (webhook === undefined || !webhook.isGood) return;
        const statuses = ['held', 'failed', ...(withSkipped ? ['skipped'] : [])];
        const body = { since: new Date(since.getTime() - 60_000).toISOString(), statuses };
        const { status, json } = await world.send('POST', `/api/v1/webhooks/${webhook.id}/recover`, { body });
        assert.equal(status, receives(webhook) ? 202 : 409);
        if (status !== 202) return;
        const found = [...webhook.deliveries.values()].filter(
          (one) =>
            one.status === 'held' ||
            one.status === 'failed' ||
            (withSkipped && one.status === 'skipped' && [null, one.priority].includes(webhook.priority)),
        );
        assert.equal(json.count, found.length);
        for (const one of found) {
          one.failures = 0;
          attempt(webhook, one, 'automatic');
        }
      },
      async delete({ which: index }) {
        const webhook = webhookAt(index);
        // One stays, whose delivery shows that an event was dispatched. A webhook that is created before gets the event, too.
        if (webhook === undefined || live().length === 1) return;
        const rows = await deliveriesOf(webhook);
        assert.equal((await world.send('DELETE', `/api/v1/webhooks/${webhook.id}`)).status, 204);
        assert.equal((await world.send('GET', `/api/v1/webhooks/${webhook.id}`)).status, 404);
        webhook.isDeleted = true;
        for (const { id, event_id: event } of rows) {
          const was = webhook.deliveries.get(event)?.status;
          const now = was === 'retrying' || was === 'held' ? 'cancelled' : was;
          await eventually(`the delivery of the deleted webhook is ${now}`, async () => {
            return (await world.send('GET', `/api/v1/deliveries/${id}`)).json.status === now;
          });
        }
      },
    };

    /** Returns how the API differs from the model, a line each. */
    async function differences(): Promise<string[]> {
      const found: string[] = [];
      for (const webhook of live()) {
        const { json } = await world.send('GET', `/api/v1/webhooks/${webhook.id}`);
        const status = webhook.disabled ? 'disabled' : webhook.active ? 'active' : 'inactive';
        const wanted = `${webhook.path} ${status}, ${webhook.failures} failures in a row`;
        const actual = `${webhook.path} ${json.status}, ${json.consecutive_failures} failures in a row`;
        if (wanted !== actual) found.push(`${actual}; expected: ${wanted}`);
        const rows = new Map((await deliveriesOf(webhook)).map((row) => [row.event_id, row]));
        for (const [id, { status: state, attempts }] of webhook.deliveries) {
          const row = rows.get(id);
          const [is, shouldBe] = [
            `${row?.status} after ${row?.attempts_count} attempts`,
            `${state} after ${attempts} attempts`,
          ];
          if (is !== shouldBe) found.push(`${webhook.path} ${id}: ${is}; expected: ${shouldBe}`);
        }
        if (rows.size !== webhook.deliveries.size) found.push(`${webhook.path} has ${rows.size} deliveries`);
      }
      return found;
    }
    /** Waits until the API is as the model. @throws Error with the differences */
    const settles = async (what: string): Promise<void> => {
      await eventually(what, () => differences().then(isEmpty), LONGEST_MS).catch(async (error: Error) => {
        throw new Error(`${error.message}\n${(await differences()).join('\n')}`);
      });
    };

    return {
      apply: (one: Action) => act[one.kind](one.plan as never),
      differences,
      settles,
      isGood: (url: string) => webhooks.find(({ path }) => path === url)?.isGood ?? false,
      /** Checks that the receiver got each attempt and no others. */
      checkRequests(): void {
        const paths = receiver.requests.slice(before).map(({ url }) => url);
        for (const { path, deliveries } of webhooks) {
          const attempts = [...deliveries.values()].reduce((sum, one) => sum + one.attempts, 0);
          assert.equal(paths.filter((one) => one === path).length, attempts, `the requests to ${path}`);
        }
      },
      async end(): Promise<void> {
        for (const { id } of live()) await world.send('DELETE', `/api/v1/webhooks/${id}`);
      },
    };
  }
});

const isEmpty = (lines: readonly string[]): boolean => lines.length === 0;
