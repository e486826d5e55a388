import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { eventually } from '../support/eventually.ts';
import { useCallbackReceiver, useReceiver } from '../support/callback-receiver.ts';
import { type Receiver } from '../support/receiver.ts';
import { useWorld } from '../support/world.ts';

type Json = Record<string, unknown>;
type Operation = {
  operationId: string;
  parameters?: { name: string; in: string; required?: boolean; schema: Json }[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, Json>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Json> };
};

describe('the OpenAPI document', () => {
  const world = useWorld();
  const receiver = useReceiver();
  const callbacks = useCallbackReceiver();
  let document: Document;
  let ajv: Ajv2020;
  before(async () => {
    document = (await world.send('GET', '/api/v1/openapi.json', { key: null })).json;
    ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema(document, 'api');
  });

  /** Whether a value is valid by the schema at this pointer of the document. */
  const isValid = (pointer: string, value: unknown): boolean => {
    const validate = ajv.getSchema(`api#${pointer}`);
    assert.ok(validate, pointer);
    return validate(value) === true;
  };
  const operations = () => Object.values(document.paths).flatMap((item) => Object.values(item));

  it('names 406 where a request is refused with it, and nowhere else', async () => {
    const cookie = await world.signIn();
    const headers = { Accept: 'application/x-unknown' };
    let refused = 0;
    for (const [path, { get: operation }] of Object.entries(document.paths)) {
      if (!operation || path.includes('{')) continue;
      const { status } = await world.send('GET', path, { key: null, cookie, headers });
      assert.equal(status === 406, '406' in operation.responses, `${path}: ${status}`);
      refused += Number(status === 406);
    }
    assert.ok(refused > 10, `${refused}`);
    const empty = operations().filter(({ responses }) => '204' in responses && !('200' in responses));
    for (const { operationId, responses } of empty) assert.ok(!('406' in responses), operationId);
  });

  it('lets responses have more fields, and requests not', () => {
    for (const { operationId, responses } of operations()) {
      assert.deepEqual(strictSchemas(responses, document), [], operationId);
    }
    assert.deepEqual(strictSchemas(document.webhooks, document), []);
    const { TaskSubmission, WebhookPlan, Rehearsal } = document.components.schemas;
    for (const schema of [TaskSubmission, WebhookPlan, Rehearsal]) {
      assert.equal(schema?.['additionalProperties'], false);
    }
  });

  describe('says for events', () => {
    const PLACE = '/paths/~1api~1v1~1events/post/requestBody/content/application~1json/schema';
    const CLOUD = PLACE.replace('application~1json', 'application~1cloudevents+json');
    const TEST = '/components/schemas/TestDelivery';

    it('what `data` each kind has', async () => {
      for (const [index, kind] of EVENT_KINDS.entries()) {
        const event = { event: kind, data: sampleData(kind) };
        assert.ok(isValid(PLACE, event), kind);
        assert.ok(isValid(PLACE, { events: [event, event] }), kind);
        assert.ok(isValid(TEST, event) && isValid(TEST, { event: kind }), kind);
        const cloud = { specversion: '1.0', id: '1', source: '/a', type: kind, data: event.data };
        assert.ok(isValid(CLOUD, cloud), kind);
        const [main] = Object.keys(event.data);
        for (const data of [{}, { [main ?? '']: 1 }, { [main ?? '']: { id: '' } }]) {
          assert.ok(!isValid(PLACE, { event: kind, data }), kind);
          assert.ok(!isValid(PLACE, { events: [event, { event: kind, data }] }), kind);
          assert.ok(!isValid(TEST, { event: kind, data }), kind);
          assert.ok(!isValid(CLOUD, { ...cloud, data }), kind);
        }
        // The service agrees.
        const other = EVENT_KINDS.filter((one) => one.split('.')[0] !== kind.split('.')[0])[index % 3];
        const mixed = { event: kind, data: { other: sampleData(other ?? kind) } };
        assert.ok(!isValid(PLACE, mixed), kind);
        assert.equal((await world.send('POST', '/api/v1/events', { body: mixed })).status, 422, kind);
        assert.equal((await world.send('POST', '/api/v1/events', { body: event })).status, 202, kind);
      }
    });

    it('that there is one event or a list, not both', () => {
      const event = { event: 'issue.created', data: sampleData('issue.created') };
      assert.ok(!isValid(PLACE, { ...event, events: [event] }));
      assert.ok(!isValid(PLACE, { events: [] }));
      assert.ok(!isValid(PLACE, { event: 'issue.eaten', data: event.data }));
    });
  });

  describe('says for webhooks', () => {
    const valid = { name: 'A', url: 'https://example.com/', events: [{ event: 'issue.created' }] };
    const filtered = (filter: Json) => ({
      ...valid,
      events: [{ event: 'issue.updated', filters: [filter] }],
    });
    const TABLE: [what: string, plan: Json, isValid: boolean][] = [
      ['a filter with `changed_to`', filtered({ field: 'status', changed_to: 'Done' }), true],
      ['a filter with `values`', filtered({ field: 'status', values: ['Done'] }), true],
      ['a filter with neither', filtered({ field: 'status' }), false],
      ['a filter with both', filtered({ field: 'status', changed_to: 'A', values: ['A'] }), false],
      ['the secret header without a secret', { ...valid, include_secret_header: true }, false],
      ['Standard Webhooks without a secret', { ...valid, standard_webhooks: true }, false],
      ['neither of them, and no secret', { ...valid, standard_webhooks: false }, true],
      [
        'both with a secret',
        { ...valid, include_secret_header: true, standard_webhooks: true, secret: 's' },
        true,
      ],
    ];
    for (const [what, plan, expected] of TABLE) {
      it(`that ${what} is ${expected ? 'accepted' : 'refused'}, as the service does`, async () => {
        assert.equal(isValid('/components/schemas/WebhookPlan', plan), expected);
        const { status, json } = await world.send('POST', '/api/v1/webhooks', {
          body: { ...plan, url: receiver.url },
        });
        assert.equal(status, expected ? 201 : 422);
        if (json.id) await world.send('DELETE', `/api/v1/webhooks/${json.id}`);
      });
    }
  });

  it('says that a filter for many tasks is not empty, as the service does', async () => {
    for (const [schema, path] of [
      ['BulkCancel', 'cancel'],
      ['BulkRerun', 'rerun'],
    ]) {
      const pointer = `/components/schemas/${schema}`;
      assert.deepEqual(
        [{}, { q: 'x' }].map((filter) => isValid(pointer, { filter })),
        [false, true],
      );
      const { status } = await world.send('POST', `/api/v1/tasks/${path}`, { body: { filter: {} } });
      assert.equal(status, 422);
    }
  });

  describe('says what the service sends', () => {
    /** Asserts that a received request is as declared. */
    function assertDeclared(name: string, { headers, body }: Receiver['requests'][number]): void {
      const operation = document.webhooks[name]?.post;
      assert.ok(operation, name);
      const parameters = operation.parameters ?? [];
      for (const [index, parameter] of parameters.entries()) {
        const value = headers[parameter.name.toLowerCase()];
        if (value === undefined) assert.ok(!parameter.required, parameter.name);
        else
          assert.ok(
            isValid(`/webhooks/${name}/post/parameters/${index}/schema`, value),
            `${parameter.name}: ${String(value)}`,
          );
      }
      const declared = new Set([
        ...TRANSPORT,
        ...parameters.map((parameter) => parameter.name.toLowerCase()),
      ]);
      assert.deepEqual(
        Object.keys(headers).filter((header) => !declared.has(header)),
        [],
      );
      assert.equal(headers['content-type'], 'application/json');
      const pointer = `/webhooks/${name}/post/requestBody/content/application~1json/schema`;
      assert.ok(isValid(pointer, JSON.parse(body.toString())), body.toString());
      assert.ok(!isValid(pointer, {}));
      assert.deepEqual(Object.keys(operation.responses).toSorted(), ['2XX', '401', 'default']);
    }

    /** Waits for the request with an event. Events of other tests may also arrive. */
    const requestWith = (eventId: string) =>
      eventually(`the event ${eventId}`, () => {
        const hasEvent = ({ body }: Receiver['requests'][number]) =>
          JSON.parse(body.toString()).id === eventId;
        return receiver.requests.find(hasEvent) ?? null;
      });

    it('in one entry for each kind of event, and one for callbacks', () => {
      assert.deepEqual(
        Object.keys(document.webhooks).toSorted(),
        [...EVENT_KINDS, 'task.callback'].toSorted(),
      );
    });

    it('to webhooks, with all headers', async () => {
      const body = {
        name: 'All',
        url: receiver.url,
        events: EVENT_KINDS.map((event) => ({ event })),
        secret: 'a-first-secret',
        include_secret_header: true,
        standard_webhooks: true,
      };
      const { json: webhook } = await world.send('POST', '/api/v1/webhooks', { body });
      await world.send('POST', `/api/v1/webhooks/${webhook.id}/rotate-secret`, {
        body: { secret: 'another-secret' },
      });
      const events = EVENT_KINDS.map((event) => ({ id: randomUUID(), event, data: sampleData(event) }));
      await world.send('POST', '/api/v1/events', { body: { events } });
      for (const { id, event: kind } of events) {
        const request = await requestWith(id);
        assertDeclared(kind, request);
        for (const { name } of document.webhooks[kind]?.post.parameters ?? []) {
          assert.ok(name === 'traceparent' || name.toLowerCase() in request.headers, name);
        }
      }
      await world.send('DELETE', `/api/v1/webhooks/${webhook.id}`);
    });

    it('to webhooks without a secret', async () => {
      const body = { name: 'Plain', url: receiver.url, events: [{ event: 'user.joined' }] };
      const { json: webhook } = await world.send('POST', '/api/v1/webhooks', { body });
      const event = { id: randomUUID(), event: 'user.joined', data: sampleData('user.joined') };
      await world.send('POST', '/api/v1/events', { body: event });
      const request = await requestWith(event.id);
      assert.ok(!('x-service-signature' in request.headers));
      assertDeclared('user.joined', request);
      await world.send('DELETE', `/api/v1/webhooks/${webhook.id}`);
    });

    it('to the callback_url of a task', async () => {
      for (const rehearsal of [{ steps: 1 }, { unrecoverable: { step: 1 } }]) {
        const before = callbacks.requests.length;
        await world.submit({ callback_url: callbacks.url, metadata: { rehearsal } });
        const request = (await callbacks.receives(before + 1)).at(-1);
        assert.ok(request);
        assertDeclared('task.callback', request);
      }
    });
  });
});

/** Headers that every HTTP request may have. */
const TRANSPORT = ['host', 'connection', 'content-length', 'content-type', 'accept', 'accept-encoding'];

/** Returns the pointers below a value, also behind references, that forbid additional properties. */
function strictSchemas(value: unknown, document: Document, at = '', seen = new Set<string>()): string[] {
  if (Array.isArray(value))
    return value.flatMap((one, index) => strictSchemas(one, document, `${at}/${index}`, seen));
  if (value === null || typeof value !== 'object') return [];
  const own = (value as Json)['additionalProperties'] === false ? [at] : [];
  const { $ref: reference } = value as Json;
  if (typeof reference === 'string') {
    if (seen.has(reference)) return own;
    seen.add(reference);
    const name = reference.split('/').at(-1) ?? '';
    return [...own, ...strictSchemas(document.components.schemas[name], document, reference, seen)];
  }
  return [
    ...own,
    ...Object.entries(value).flatMap(([name, inner]) =>
      strictSchemas(inner, document, `${at}/${name}`, seen),
    ),
  ];
}
