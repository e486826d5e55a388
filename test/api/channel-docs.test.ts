import assert from 'node:assert/strict';
import type { z } from 'zod';
import { CHANNEL_CODES } from '../../src/domain/channel/channel.ts';
import { FEED_EVENT_TYPES } from '../../src/domain/tasks/feed-events.ts';
import { channelDocument } from '../../src/api/docs/asyncapi.ts';
import { REPLIES, CLIENT_MESSAGES, PUSHED, ROOM_EVENTS } from '../../src/api/docs/channel-vocabulary.ts';
import { useWorld } from '../support/world.ts';
import { referencesIn } from './references.ts';

describe('the description of the live channel', () => {
  const world = useWorld();

  const read = (path: string) => world.send('GET', path, { key: null });

  it('is a public AsyncAPI document', async () => {
    const { status, headers, json } = await read('/asyncapi.json');
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(json.asyncapi, '3.0.0');
    assert.ok(json.servers.websocket.host.endsWith(`:${new URL(world.api.url).port}`));
    assert.equal(json.servers.websocket.pathname, '/ws');
    assert.deepEqual(json.components.securitySchemes.token.in, 'query');
  });

  it('contains every message, event and code, and resolves all its references', async () => {
    const { json } = await read('/asyncapi.json');
    const known = Object.keys(json.components.messages);
    const words = [CLIENT_MESSAGES, REPLIES, PUSHED, ROOM_EVENTS.webhook].flatMap((one) => Object.keys(one));
    assert.deepEqual(known.toSorted(), [...words, ...FEED_EVENT_TYPES].toSorted());
    assert.deepEqual(json['x-codes'], CHANNEL_CODES);
    for (const reference of referencesIn(json)) {
      const parts = reference.slice(2).split('/');
      assert.ok(
        parts.reduce((inner, part) => inner?.[part], json),
        reference,
      );
    }
  });

  it('contains valid examples, each with the type that a plain client receives', () => {
    const all = { ...REPLIES, ...PUSHED, ...ROOM_EVENTS.workflow, ...ROOM_EVENTS.webhook };
    const clientMessages = Object.entries(CLIENT_MESSAGES).map(
      ([name, { schema }]) => [name, schema] as const,
    );
    for (const [name, schema] of [...clientMessages, ...Object.entries<z.ZodType>(all)]) {
      const examples = schema.meta()?.examples ?? [];
      assert.ok(examples.length > 0, name);
      for (const example of examples) schema.parse(example);
    }
    const { messages } = channelDocument('https://baton.example.com').components;
    for (const { name, examples } of Object.values(messages)) {
      for (const { payload } of examples) {
        const { type, event } = payload as { type: string; event?: { type: string } };
        assert.equal(type === 'event' ? event?.type : type, name);
      }
    }
  });

  it('lets messages of the service have more fields, and those of clients not', () => {
    const { messages, schemas } = channelDocument('https://baton.example.com').components;
    const ofClients = new Set<string>(
      Object.entries(CLIENT_MESSAGES).flatMap(([name, { schema }]) => [name, String(schema.meta()?.id)]),
    );
    const strict = Object.entries({ ...messages, ...schemas }).flatMap(([name, described]) =>
      JSON.stringify(described).includes('"additionalProperties":false') ? [name] : [],
    );
    assert.deepEqual(new Set(strict), ofClients);
  });

  it('contains a wss server if the service uses https', () => {
    const { servers } = channelDocument('https://baton.example.com');
    assert.equal(servers.websocket.protocol, 'wss');
    assert.equal(servers.websocket.host, 'baton.example.com');
  });

  it('is a page without scripts and external resources', async () => {
    const page = await read('/docs/channel');
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
    const policy = page.headers.get('content-security-policy') ?? '';
    assert.ok(!/unsafe|https?:/.test(policy), policy);
    assert.ok(!/<script|<style| style=|https?:\/\//.test(page.text));
    const links = [...page.text.matchAll(/href="([^"]+)"/g)].map(([, link]) => link ?? '');
    const ids = new Set([...page.text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    for (const link of links) {
      if (link.startsWith('#')) assert.ok(ids.has(link.slice(1)), link);
      else assert.equal((await read(link)).status, 200, link);
    }
    for (const code of Object.keys(CHANNEL_CODES)) assert.ok(page.text.includes(code), code);
    assert.ok((await read('/docs')).text.includes('href="/docs/channel"'));
  });

  it('explains each code at /problems/{code}', async () => {
    for (const code of Object.keys(CHANNEL_CODES)) {
      const { status, text } = await read(`/problems/${code}`);
      assert.equal(status, 200, code);
      assert.ok(text.startsWith(code));
    }
  });
});
