import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { TestAuthority } from '../test/support/certificates.ts';
import type { Random } from '../test/support/random.ts';
import type { Arrival, WebhookBook } from './books.ts';
import type { Caller } from './caller.ts';
import type { Cast } from './cast.ts';
import type { Troubles } from './disturb.ts';
import { enableAndRecover } from './operator.ts';
import { WEBHOOKS, type WebhookName } from './plan-disturbances.ts';
import { RECEIVER_NAMES, startStoryReceiver, type Habit, type StoryReceiver } from './receivers.ts';
import { subscriptionsOf } from './webhooks.ts';

/** All receivers of a story. */
export type Seated = {
  callbackUrl: string;
  /** What came for tasks. */
  callbacks: Arrival[];
  /** Requests that have arrived at any of them. */
  arrived(): number;
  makeWebhooks(caller: Caller): Promise<WebhookBook[]>;
  troublesFor(caller: Caller, since: Date, isOver: () => boolean): Troubles;
  /** From now on everything is taken. */
  beWell(): void;
  close(): Promise<void>;
};

const CLOCK_OFF_MS = 600_000;
/** A certificate is made for so long before it runs out. */
const LAST_SECONDS_MS = 1_500;

/** Starts a receiver for each webhook and one for callbacks, each behind a way that can be cut. */
export async function seatReceivers(cast: Cast, authority: TestAuthority, random: Random): Promise<Seated> {
  const secrets = new Map(WEBHOOKS.map((name) => [name, randomBytes(24).toString('hex')]));
  const secretOf = (name: WebhookName) => secrets.get(name) ?? '';
  const habitOf = (name: WebhookName): Habit => {
    if (name === 'flaky') return { kind: 'stumbles', oneIn: 6, random: random.fork() };
    if (name === 'clock') return { kind: 'looks at the clock', secret: secretOf(name) };
    return { kind: 'takes all' };
  };
  const receivers = new Map<WebhookName, StoryReceiver>();
  const urls = new Map<WebhookName, string>();
  for (const name of WEBHOOKS) {
    const receiver = await startStoryReceiver(authority, habitOf(name));
    receivers.set(name, receiver);
    urls.set(
      name,
      `https://localhost:${(await cast.addLink(`service to ${name}`, receiver.port)).port}/${name}`,
    );
  }
  const callbacks = await startStoryReceiver(authority, {
    kind: 'stumbles',
    oneIn: 12,
    random: random.fork(),
  });
  const callbackPort = (await cast.addLink('service to callbacks', callbacks.port)).port;
  const of = (name: WebhookName) => {
    const receiver = receivers.get(name);
    if (!receiver) throw new Error(`no receiver for ${name}`);
    return receiver;
  };
  const all = () => [callbacks, ...receivers.values()];
  const ids = new Map<WebhookName, string>();

  async function makeWebhook(caller: Caller, name: WebhookName): Promise<WebhookBook> {
    const secret = secretOf(name);
    const body = {
      name,
      url: urls.get(name),
      secret,
      events: subscriptionsOf(name),
      ...(name === 'clock' ? { standard_webhooks: true } : {}),
    };
    const answer = await caller.insist('POST', '/api/v1/webhooks', { body, until: [201] });
    const id = String(answer?.json.id);
    ids.set(name, id);
    return { name, id, secret, arrivals: of(name).arrivals };
  }

  return {
    callbackUrl: `https://localhost:${callbackPort}/callbacks`,
    callbacks: callbacks.arrivals,
    arrived: () => all().reduce((sum, { arrivals }) => sum + arrivals.length, 0),
    makeWebhooks: (caller) => Promise.all(WEBHOOKS.map((name) => makeWebhook(caller, name))),
    troublesFor: (caller, since, isOver) => ({
      async clock(lastsMs) {
        of('clock').setClock(CLOCK_OFF_MS);
        await wait(lastsMs);
        of('clock').setClock(0);
      },
      async certificate(lastsMs) {
        const validTo = new Date(Date.now() + LAST_SECONDS_MS);
        of('certificate').show(await authority.issue({ names: RECEIVER_NAMES, validTo }));
        await wait(lastsMs);
        of('certificate').show(await authority.issue({ names: RECEIVER_NAMES }));
      },
      async refusals(lastsMs) {
        of('breaking').refuseWith(500);
        await wait(lastsMs);
        of('breaking').refuseWith(null);
        await enableAndRecover(caller, ids.get('breaking') ?? '', since, isOver);
      },
    }),
    beWell: () => all().forEach((receiver) => receiver.beWell()),
    close: async () => void (await Promise.all(all().map((receiver) => receiver.close()))),
  };
}
