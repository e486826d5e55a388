import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { request, type Agent } from 'undici';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { sideBySide, summarise, timed, type Summary } from './figures.ts';
import type { Arrival } from './webhook-receiver.ts';

export type Published = { id: string; at: number; took: number };

/** A receiver in a process of its own. */
export type BenchReceiver = {
  url: string;
  /** All that has come to a path, once so many have. @throws where they do not within two minutes */
  arrived(count: number, path: string): Promise<Arrival[]>;
  /** Forgets what has come. */
  forget(): Promise<void>;
  end(): void;
};

export async function startBenchReceiver(): Promise<BenchReceiver> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'webhook-receiver.ts'));
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  let seen: Arrival[] = [];
  const look = async () => {
    child.send('look');
    const [{ arrivals }] = (await once(child, 'message')) as [{ arrivals: Arrival[] }];
    for (const one of arrivals) seen.push(one);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    async arrived(count, path) {
      for (const until = Date.now() + 120_000; ; await wait(20)) {
        await look();
        const those = seen.filter(([, to]) => to === path);
        if (those.length >= count) return those;
        if (Date.now() > until) throw new Error(`${those.length} of ${count} arrived at ${path}`);
      }
    },
    async forget() {
      await look();
      seen = [];
    },
    end: () => child.disconnect(),
  };
}

/** Webhooks and events over HTTP. */
export type EventClient = {
  /** Makes a webhook for one kind at a path of the receiver; answers its id. */
  webhook(path: string, event?: string): Promise<string>;
  drop(id: string): Promise<string>;
  /** Publishes one event; answers its id, when it was sent and how long the answer took. */
  publish(event?: string, content?: string): Promise<Published>;
};

export function eventClient(
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
    async webhook(path, event = 'issue.created') {
      const body = { name: path, url: `${receiver}${path}`, secret: 'bench', events: [{ event }] };
      return (JSON.parse(await call('POST', '/api/v1/webhooks', JSON.stringify(body))) as { id: string }).id;
    },
    drop: (id) => call('DELETE', `/api/v1/webhooks/${id}`),
    async publish(event = 'issue.created', content = data) {
      const id = `evt_${randomUUID()}`;
      const at = performance.timeOrigin + performance.now();
      const body = `{"id":"${id}","event":"${event}","data":${content}}`;
      return { id, at, took: await timed(() => call('POST', '/api/v1/events', body)) };
    },
  };
}

/** Milliseconds from the sending of events to their arrival. */
export function waysOf(published: readonly Published[], arrivals: readonly Arrival[]): Summary {
  const at = new Map(arrivals.map(([id, , time]) => [id, time]));
  return summarise(published.flatMap((one) => (at.has(one.id) ? [(at.get(one.id) ?? 0) - one.at] : [])));
}

export type Burst = { way: Summary; acceptedPerSecond: number; arrivedPerSecond: number };

/** So many events as fast as the publishers go, each to one webhook. Events that came there before must be forgotten. */
export async function burst(
  client: EventClient,
  receiver: BenchReceiver,
  { events, publishers, path }: { events: number; publishers: number; path: string },
): Promise<Burst> {
  const published: Published[] = [];
  const begun = performance.timeOrigin + performance.now();
  const publishing = await timed(() =>
    sideBySide(events, publishers, async () => void published.push(await client.publish())),
  );
  const arrivals = await receiver.arrived(events, path);
  const lastAt = arrivals.reduce((last, [, , at]) => Math.max(last, at), 0);
  return {
    way: waysOf(published, arrivals),
    acceptedPerSecond: (1_000 * events) / publishing,
    arrivedPerSecond: (1_000 * events) / (lastAt - begun),
  };
}
