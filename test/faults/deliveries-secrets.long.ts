import assert from 'node:assert/strict';
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { withClient } from '../../dev/services/postgres.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { createSealing, webhookSecretContext } from '../../src/security/sealing.ts';
import type { ReceivedRequest, Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { withTemporal, type Answered } from '../support/service.ts';
import { storedContent } from './searched-content.ts';
import { eventOf } from './publishers.ts';
import { assertFilesSearched, assertFoundEverywhere, placesHolding, type Place } from './secret-search.ts';
import { logOf, useEndpoints, type Endpoint } from './service-webhooks.ts';

const newSecret = () => `whs-${randomBytes(18).toString('hex')}`;

describe('the secret of a webhook', function () {
  this.timeout(240_000);
  const first = newSecret();
  const { service, endpoints } = useEndpoints(1, {
    secret: first,
    include_secret_header: true,
    standard_webhooks: true,
  });
  let endpoint: Endpoint;
  let receiver: Receiver;
  let began: Date;
  beforeEach(() => {
    const [only] = endpoints;
    assert.ok(only);
    endpoint = only;
    receiver = only.receiver;
    began = new Date();
  });

  it('appears in no history, log, response, table or file, and neither do earlier ones', async () => {
    const path = `/api/v1/webhooks/${endpoint.id}`;
    const answers: Place[] = [];
    const ask = async (method: string, at: string, body?: unknown): Promise<Answered> => {
      const answered = await sendWithKey(method, at, body);
      const content = Buffer.from(`${JSON.stringify([...answered.headers])}\n${answered.text}`);
      answers.push({ name: `answer of ${method} ${at}`, content });
      return answered;
    };

    assertSigned(await arrives(1, 'secret-1'), first);
    const chosen = newSecret();
    assert.equal((await ask('POST', `${path}/rotate-secret`, { secret: chosen })).status, 200);
    assertSigned(await arrives(2, 'secret-2'), chosen, first);
    // A generated secret is shown in the response to each request with this key, so these responses are not searched.
    const repeatKey = randomUUID();
    const generated = await sendWithKey('POST', `${path}/rotate-secret`, {}, repeatKey);
    const again = await sendWithKey('POST', `${path}/rotate-secret`, {}, repeatKey);
    assert.deepEqual(again.json, generated.json);
    assertSigned(await arrives(3, 'secret-3'), generated.json.secret, chosen);
    const last = newSecret();
    assert.equal((await ask('PATCH', path, { secret: last })).status, 200);

    receiver.answering(500);
    assertSigned(await arrives(4, 'secret-4'), last);
    const deliveryId = await failedDelivery('secret-4');
    receiver.answering(204);
    assert.equal((await ask('POST', `/api/v1/deliveries/${deliveryId}/retry`, {})).status, 202);
    await receiver.receives(5);
    assert.equal((await ask('POST', `${path}/test`, { event: 'issue.created' })).status, 200);
    await untilAttempts(deliveryId, 2);
    const refused = await refusals(ask);

    const reads = [path, `${path}/deliveries`, `/api/v1/deliveries/${deliveryId}`, '/api/v1/webhooks'];
    for (const at of reads) assert.equal((await ask('GET', at)).status, 200);
    await assertSealed(last);
    const places = [...answers, ...(await storedContent(service, await workflowsSince()))];
    assertSearchIsComplete(places, deliveryId);
    const secrets = { first, chosen, generated: generated.json.secret as string, last, ...refused };
    for (const [name, secret] of Object.entries(secrets)) {
      assert.ok(secret.length >= 32, name);
      assert.deepEqual(placesHolding(places, secret), [], `the ${name} secret was found`);
    }
  });

  it('is erased with the webhook', async () => {
    const path = `/api/v1/webhooks/${endpoint.id}`;
    assert.equal((await sendWithKey('POST', `${path}/rotate-secret`, {})).status, 200);
    assert.deepEqual(
      (await sealedSecrets()).map((sealed) => typeof sealed),
      ['string', 'string'],
    );
    assert.equal((await sendWithKey('DELETE', path)).status, 204);
    assert.deepEqual(await sealedSecrets(), [null, null]);
  });

  function sendWithKey(method: string, path: string, body?: unknown, key?: string): Promise<Answered> {
    const headers = {
      'X-API-Key': service.installation.api_key,
      ...(key ? { 'Idempotency-Key': key } : {}),
    };
    return service.send(method, path, { headers, ...(body === undefined ? {} : { body }) });
  }

  /** Publishes an event. Returns its request, which is number `count`. */
  async function arrives(count: number, id: string): Promise<ReceivedRequest> {
    assert.equal((await sendWithKey('POST', '/api/v1/events', eventOf(id))).status, 202);
    const request = (await receiver.receives(count))[count - 1];
    assert.ok(request);
    return request;
  }

  function assertSigned({ headers, body }: ReceivedRequest, secret: string, previous?: string): void {
    const by = (key: string) => `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;
    assert.equal(headers['x-service-signature'], by(secret));
    assert.equal(headers['x-service-signature-previous'], previous === undefined ? undefined : by(previous));
    assert.equal(headers['x-webhook-secret'], secret);
    assert.ok(headers['webhook-signature']);
  }

  async function failedDelivery(eventId: string): Promise<string> {
    const row = await eventually('the failure is recorded', async () => {
      const log = await logOf(service, endpoints);
      return log.find(({ event_id: id, status }) => id === eventId && status === 'retrying') ?? null;
    });
    return row.id;
  }

  async function untilAttempts(deliveryId: string, count: number): Promise<void> {
    await eventually('the attempts are recorded', async () =>
      (await logOf(service, endpoints)).some(
        ({ id, attempts_count: attempts }) => id === deliveryId && attempts === count,
      ),
    );
  }

  /** Sends secrets in requests that end in errors. Log lines and problems must not repeat them. */
  async function refusals(
    ask: (method: string, at: string, body?: unknown) => Promise<Answered>,
  ): Promise<Record<string, string>> {
    const path = `/api/v1/webhooks/${endpoint.id}`;
    const [invalid, unsafe, unstored] = [newSecret(), `${newSecret()} ü`, newSecret()];
    const plan = { name: 'Refused', url: 'ftp://localhost', events: [{ event: 'issue.created' }] };
    assert.equal((await ask('POST', '/api/v1/webhooks', { ...plan, secret: invalid })).status, 422);
    assert.equal((await ask('PATCH', path, { secret: unsafe })).status, 422);
    await service.postgres.kill();
    assert.equal((await ask('PATCH', path, { secret: unstored })).status, 503);
    await service.postgres.start();
    await eventually('the API responds again', async () => (await ask('GET', path)).status === 200);
    return { invalid, unsafe, unstored };
  }

  /** Returns the stored texts of the current and the previous secret. */
  async function sealedSecrets(): Promise<(string | null)[]> {
    const { rows } = await withClient(service.databaseUrl, (client) =>
      client.query<{ secret: string | null; previous_secret: string | null }>(
        'select secret, previous_secret from webhooks where id = $1',
        [endpoint.id],
      ),
    );
    return rows.flatMap(({ secret, previous_secret: previous }) => [secret, previous]);
  }

  /** Asserts that the stored text contains the secret, encrypted with the sealing key of the service. */
  async function assertSealed(secret: string): Promise<void> {
    const sealing = createSealing(parseKeyRing(`test:${service.secrets.sealingKey}`));
    const [sealed] = await sealedSecrets();
    assert.equal(sealing.open(sealed ?? '', webhookSecretContext(endpoint.id)), secret);
  }

  /** Returns the ids of all workflows of deliveries since the start of the test. */
  async function workflowsSince(): Promise<string[]> {
    const kinds = ['dispatchEvents', 'webhookDelivery', 'webhookAttempt', 'manualRetries'];
    const query = `StartTime > "${began.toISOString()}" and WorkflowType in (${kinds.map((kind) => `"${kind}"`).join()})`;
    return await withTemporal(service, ({ workflow }) =>
      eventually('all kinds of workflows are listed', async () => {
        const found = await Array.fromAsync(workflow.list({ query }));
        const isComplete = kinds.every((kind) => found.some(({ type }) => type === kind));
        return isComplete && found.map(({ workflowId }) => workflowId);
      }),
    );
  }

  /** Asserts that the search finds a known value, because otherwise finding no secret would prove nothing. */
  function assertSearchIsComplete(places: readonly Place[], deliveryId: string): void {
    const found = assertFoundEverywhere(places, deliveryId);
    for (const table of ['table deliveries', 'table delivery_attempts'])
      assert.ok(found.includes(table), table);
    assert.ok(placesHolding(places, endpoint.id).includes('table webhooks'));
    const files = ['api.log', 'delivery-worker.log', 'worker.log', 'postgres.log', 'temporal.db'];
    assertFilesSearched(places, files);
  }
});
