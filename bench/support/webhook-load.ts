import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { request, type Agent } from 'undici';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { runConcurrently, runSteadily, summarize, measureMs, type Summary } from './measure.ts';
import type { ReceivedEvent } from './webhook-receiver.ts';

export type Published = { id: string; at: number; responseMs: number };

/** A receiver in a separate process. */
export type BenchReceiver = {
  url: string;
  /** Returns all requests to a path once there are `count`. @throws after two minutes */
  waitForRequests(count: number, path: string): Promise<ReceivedEvent[]>;
  /** Forgets all requests. */
  clear(): Promise<void>;
  end(): void;
};

export async function startBenchReceiver(): Promise<BenchReceiver> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'webhook-receiver.ts'));
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  let requests: ReceivedEvent[] = [];
  const fetchRequests = async () => {
    child.send('report');
    const [{ arrivals }] = (await once(child, 'message')) as [{ arrivals: ReceivedEvent[] }];
    for (const one of arrivals) requests.push(one);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    async waitForRequests(count, path) {
      for (const until = Date.now() + 120_000; ; await wait(20)) {
        await fetchRequests();
        const found = requests.filter(([, to]) => to === path);
        if (found.length >= count) return found;
        if (Date.now() > until) throw new Error(`${found.length} of ${count} arrived at ${path}`);
      }
    },
    async clear() {
      await fetchRequests();
      requests = [];
    },
    end: () => child.disconnect(),
  };
}

/** A client of the HTTP API for webhooks and events. */
export type EventClient = {
  /** Creates a webhook for one kind of event at a path of the receiver. Returns its id. */
  createWebhook(path: string, event?: string): Promise<string>;
  deleteWebhook(id: string): Promise<string>;
  /** Makes a request and returns the body of its response. @throws unless the status is below 300 */
  call(method: 'POST' | 'DELETE', path: string, body?: string): Promise<string>;
  /** Publishes one event. Returns its id, when it was sent, and the time until the response. */
  publish(event?: string, content?: string): Promise<Published>;
};

export function createEventClient(
  { url, key, receiver }: { url: string; key: string; receiver: string },
  dispatcher: Agent,
): EventClient {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const data = JSON.stringify(sampleData('issue.created'));
  const call = async (method: 'POST' | 'DELETE', path: string, body?: string): Promise<string> => {
    const options = { method, headers, dispatcher, ...(body === undefined ? {} : { body }) };
    const answer = await request(`${url}${path}`, options);
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${answer.statusCode}: ${text}`);
    return text;
  };
  return {
    async createWebhook(path, event = 'issue.created') {
      const body = { name: path, url: `${receiver}${path}`, secret: 'bench', events: [{ event }] };
      return (JSON.parse(await call('POST', '/api/v1/webhooks', JSON.stringify(body))) as { id: string }).id;
    },
    call,
    deleteWebhook: (id) => call('DELETE', `/api/v1/webhooks/${id}`),
    async publish(event = 'issue.created', content = data) {
      const id = `evt_${randomUUID()}`;
      const at = performance.timeOrigin + performance.now();
      const body = `{"id":"${id}","event":"${event}","data":${content}}`;
      return { id, at, responseMs: await measureMs(() => call('POST', '/api/v1/events', body)) };
    },
  };
}

/** Summarizes the milliseconds from sending events to their arrival. */
export function deliveryTimes(published: readonly Published[], arrivals: readonly ReceivedEvent[]): Summary {
  const at = new Map(arrivals.map(([id, , time]) => [id, time]));
  return summarize(published.flatMap((one) => (at.has(one.id) ? [(at.get(one.id) ?? 0) - one.at] : [])));
}

/** Times of events that are published at a steady rate: until their arrival, and until the response. */
export type Latency = { arrival: Summary; answer: Summary };

/** Publishes events one by one at 20 a second, however long the responses take. */
export async function publishSteadily(
  client: EventClient,
  receiver: BenchReceiver,
  { count, path, event }: { count: number; path: string; event: 'issue.created' | 'user.joined' },
): Promise<Latency> {
  const content = JSON.stringify(sampleData(event));
  const published = await runSteadily(count, () => client.publish(event, content));
  const arrivals = await receiver.waitForRequests(count, path);
  return {
    arrival: deliveryTimes(published, arrivals),
    answer: summarize(published.map(({ responseMs }) => responseMs)),
  };
}

export type Burst = { deliveryTime: Summary; acceptedPerSecond: number; arrivedPerSecond: number };

/** Publishes events as fast as possible, each for one webhook. Call `clear` of the receiver before. */
export async function publishBurst(
  client: EventClient,
  receiver: BenchReceiver,
  { events, publishers, path }: { events: number; publishers: number; path: string },
): Promise<Burst> {
  const published: Published[] = [];
  const begun = performance.timeOrigin + performance.now();
  const publishing = await measureMs(() =>
    runConcurrently(events, publishers, async () => void published.push(await client.publish())),
  );
  const arrivals = await receiver.waitForRequests(events, path);
  const lastAt = arrivals.reduce((last, [, , at]) => Math.max(last, at), 0);
  return {
    deliveryTime: deliveryTimes(published, arrivals),
    acceptedPerSecond: (1_000 * events) / publishing,
    arrivedPerSecond: (1_000 * events) / (lastAt - begun),
  };
}
