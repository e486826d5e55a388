import assert from 'node:assert/strict';
import {
  assertFilesSearched,
  assertFoundEverywhere,
  formsOf,
  containsAny,
  placesHolding,
  type Place,
} from './secret-search.ts';
import { responsesAbout, storedContent } from './searched-content.ts';
import { mixedScripts, SHORT } from './mixed-tasks.ts';
import { submitAll, untilSettled } from './service-runs.ts';
import { useService } from './shared-service.ts';

describe('a secret', function () {
  this.timeout(240_000);
  const { service, receiver } = useService();

  it('appears in no history, log, response, table or file', async () => {
    const { installation, secrets } = service;
    const [completed, escalated] = [SHORT, mixedScripts(4)[3] ?? SHORT];
    const repeatKey = { 'X-API-Key': installation.api_key, 'Idempotency-Key': 'a-key-for-repeats' };
    const submitted = await submitAll(service, receiver, [completed, escalated]);
    const body = { title: 'Again', project_id: installation.project_id, callback_url: receiver.url };
    const first = await service.send('POST', '/api/v1/tasks', { body, headers: repeatKey });
    const repeated = await service.send('POST', '/api/v1/tasks', { body, headers: repeatKey });
    assert.equal(
      repeated.json.callback_secret,
      first.json.callback_secret,
      'the repeated response is the same',
    );
    const credentials = await useEveryCredential();
    await provokeErrors();
    const tasks = [...submitted, { id: String(first.json.execution_id) }];
    await untilSettled(service, tasks);
    const ids = tasks.map(({ id }) => id);

    const places = [...(await responsesAbout(service, ids)), ...(await storedContent(service, ids))];
    assertSearchIsComplete(places, ids);
    const searched: Record<string, string> = {
      'the API key': installation.api_key,
      'the password': installation.admin_password,
      'a sealing key': secrets.sealingKey,
      'a token key': secrets.tokenKey,
      "the database's password": secrets.databasePassword,
      'the callback secret of a repeat': first.json.callback_secret,
      ...credentials,
    };
    submitted.forEach(({ secret }, index) => {
      searched[`the callback secret of run ${index + 1}`] = secret;
    });
    for (const [name, secret] of Object.entries(searched)) {
      assert.ok(secret.length >= 8, name);
      assert.deepEqual(placesHolding(places, secret), [], `${name} was found`);
    }
  });

  /** Uses a session and a token, and sends credentials that are almost valid. */
  async function useEveryCredential(): Promise<Record<string, string>> {
    const { admin_email: email, admin_password: password, api_key } = service.installation;
    const signIn = (attempted: string) =>
      service.send('POST', '/api/v1/session', { body: { email, password: attempted }, headers: {} });
    const session = await signIn(password);
    const cookie = session.headers.get('set-cookie')?.split(';')[0] ?? '';
    assert.equal((await service.send('GET', '/api/v1/me', { headers: { Cookie: cookie } })).status, 200);
    const wrongPassword = `${password}-wrong`;
    assert.equal((await signIn(wrongPassword)).status, 401);
    const token = (await service.send('POST', '/api/v1/tokens', { body: {} })).json.token as string;
    const bearer = { Authorization: `Bearer ${token}` };
    assert.equal((await service.send('GET', '/api/v1/tasks', { headers: bearer })).status, 200);
    assert.equal(
      (await service.send('GET', '/api/v1/tasks', { headers: { Authorization: `Bearer ${api_key}` } }))
        .status,
      401,
    );
    const created = await service.send('POST', '/api/v1/keys', {
      body: { name: 'second', scopes: ['tasks:read'], project_id: service.installation.project_id },
      headers: { Cookie: cookie, Origin: service.url },
    });
    assert.equal(created.status, 201, created.text);
    return {
      'the session': cookie.split('=')[1] ?? '',
      'a token': token,
      'a second key': created.json.key,
    };
  }

  /** Sends requests that end in errors. Log lines and problems must not repeat their secrets. */
  async function provokeErrors(): Promise<void> {
    const headers = { 'X-API-Key': service.installation.api_key };
    const broken = await fetch(`${service.url}/api/v1/tasks`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: '{"title": ',
    });
    assert.equal(broken.status, 400);
    await service.postgres.kill();
    assert.equal((await service.submit({})).status, 503);
    await service.postgres.start();
  }

  /** Asserts that the search finds a known value, because otherwise finding no secret would prove nothing. */
  function assertSearchIsComplete(places: readonly Place[], ids: readonly string[]): void {
    for (const id of ids) assertFoundEverywhere(places, id);
    const files = ['api.log', 'worker.log', 'temporal.log', 'postgres.log', 'temporal.db'];
    assertFilesSearched(places, files);
    assert.ok(placesHolding(places, service.installation.project_id).includes('table task_runs'));
  }
});

describe('the search for a secret', () => {
  const secret = 'a secret that is long enough';
  const isFoundIn = (content: string | Buffer) => containsAny(Buffer.from(content), formsOf(secret));

  it('finds it as text, in base64 at any offset, in hex and percent-encoded', () => {
    assert.ok(isFoundIn(`before ${secret} after`));
    for (const before of ['', 'x', 'xy', 'xyz']) {
      assert.ok(
        isFoundIn(Buffer.from(`${before}${secret}and after`).toString('base64')),
        `after "${before}"`,
      );
      assert.ok(isFoundIn(Buffer.from(`${before}${secret}and after`).toString('base64url')));
    }
    assert.ok(isFoundIn(Buffer.from(secret).toString('hex')));
    assert.ok(isFoundIn(encodeURIComponent(secret)));
  });

  it('finds the bytes of a hex text', () => {
    const hex = 'a1b2c3d4'.repeat(8);
    assert.ok(containsAny(Buffer.from(hex, 'hex'), formsOf(hex)));
    assert.ok(containsAny(Buffer.from(Buffer.from(hex, 'hex').toString('base64')), formsOf(hex)));
  });

  it('finds nothing in other text', () => {
    assert.ok(!isFoundIn('a secret that is long'));
  });
});
