import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { TestAuthority } from '../test/support/certificates.ts';
import type { Random } from '../test/support/random.ts';
import type { RequestRecord, WebhookRecord } from './records.ts';
import type { Caller } from './caller.ts';
import type { ProxiedService } from './service.ts';
import type { ReceiverFaults } from './inject-faults.ts';
import { enableAndRecover } from './operator.ts';
import { WEBHOOKS, type WebhookName } from './plan-faults.ts';
import { RECEIVER_NAMES, startScenarioReceiver, type Behavior, type ScenarioReceiver } from './receiver.ts';
import { subscriptionsOf } from './webhooks.ts';

/** All receivers of a scenario. */
export type ScenarioReceivers = {
  callbackUrl: string;
  /** The requests of callbacks. */
  callbacks: RequestRecord[];
  /** The number of requests at all receivers. */
  requestCount(): number;
  createWebhooks(caller: Caller): Promise<WebhookRecord[]>;
  faultsFor(caller: Caller, since: Date, isOver: () => boolean): ReceiverFaults;
  /** Makes all receivers accept all requests from now on. */
  recover(): void;
  close(): Promise<void>;
};

const CLOCK_OFFSET_MS = 600_000;
/** The time until a certificate expires that is issued for the fault. */
const CERTIFICATE_LIFETIME_MS = 1_500;

/** Starts a receiver for each webhook and one for callbacks, each behind a proxy. */
export async function startReceivers(
  service: ProxiedService,
  authority: TestAuthority,
  random: Random,
): Promise<ScenarioReceivers> {
  const secrets = new Map(WEBHOOKS.map((name) => [name, randomBytes(24).toString('hex')]));
  const secretOf = (name: WebhookName) => secrets.get(name) ?? '';
  const behaviorOf = (name: WebhookName): Behavior => {
    if (name === 'flaky') return { kind: 'fail sometimes', oneIn: 6, random: random.fork() };
    if (name === 'clock') return { kind: 'verify time', secret: secretOf(name) };
    return { kind: 'accept all' };
  };
  const receivers = new Map<WebhookName, ScenarioReceiver>();
  const urls = new Map<WebhookName, string>();
  for (const name of WEBHOOKS) {
    const receiver = await startScenarioReceiver(authority, behaviorOf(name));
    receivers.set(name, receiver);
    urls.set(
      name,
      `https://localhost:${(await service.addLink(`service to ${name}`, receiver.port)).port}/${name}`,
    );
  }
  const callbacks = await startScenarioReceiver(authority, {
    kind: 'fail sometimes',
    oneIn: 12,
    random: random.fork(),
  });
  const callbackPort = (await service.addLink('service to callbacks', callbacks.port)).port;
  const receiverOf = (name: WebhookName) => {
    const receiver = receivers.get(name);
    if (!receiver) throw new Error(`no receiver for ${name}`);
    return receiver;
  };
  const all = () => [callbacks, ...receivers.values()];
  const ids = new Map<WebhookName, string>();

  async function createWebhook(caller: Caller, name: WebhookName): Promise<WebhookRecord> {
    const secret = secretOf(name);
    const body = {
      name,
      url: urls.get(name),
      secret,
      events: subscriptionsOf(name),
      ...(name === 'clock' ? { standard_webhooks: true } : {}),
    };
    const response = await caller.requestUntil('POST', '/api/v1/webhooks', { body, until: [201] });
    const id = String(response?.json.id);
    ids.set(name, id);
    return { name, id, secret, requests: receiverOf(name).requests };
  }

  return {
    callbackUrl: `https://localhost:${callbackPort}/callbacks`,
    callbacks: callbacks.requests,
    requestCount: () => all().reduce((sum, { requests }) => sum + requests.length, 0),
    createWebhooks: (caller) => Promise.all(WEBHOOKS.map((name) => createWebhook(caller, name))),
    faultsFor: (caller, since, isOver) => ({
      async clock(durationMs) {
        receiverOf('clock').setClockOffset(CLOCK_OFFSET_MS);
        await wait(durationMs);
        receiverOf('clock').setClockOffset(0);
      },
      async certificate(durationMs) {
        const validTo = new Date(Date.now() + CERTIFICATE_LIFETIME_MS);
        receiverOf('certificate').useCertificate(await authority.issue({ names: RECEIVER_NAMES, validTo }));
        await wait(durationMs);
        receiverOf('certificate').useCertificate(await authority.issue({ names: RECEIVER_NAMES }));
      },
      async refusals(durationMs) {
        receiverOf('breaking').refuseWith(500);
        await wait(durationMs);
        receiverOf('breaking').refuseWith(null);
        await enableAndRecover(caller, ids.get('breaking') ?? '', since, isOver);
      },
    }),
    recover: () => all().forEach((receiver) => receiver.recover()),
    close: async () => void (await Promise.all(all().map((receiver) => receiver.close()))),
  };
}
