import assert from 'node:assert/strict';
import type { Caller } from '../../src/api/http/caller.ts';
import { createIdempotency, idOfClaim, requestHash } from '../../src/api/http/idempotency.ts';
import { Problem } from '../../src/api/http/problem.ts';
import type { Claim, RouteResponse } from '../../src/api/http/route.ts';
import type { IdempotencyKeys } from '../../src/database/tasks/idempotency.ts';
import type { ClaimOutcome, ClaimRequest } from '../../src/domain/common/idempotency.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { createSealing } from '../../src/security/sealing.ts';

const NOW = new Date('2026-01-31T11:59:59.999Z');
const CLAIMED = new Date('2026-01-31T11:59:00.000Z');
const MINE: ClaimOutcome = { outcome: 'mine', claimedAt: CLAIMED, isFirst: true };
const KEY_CALLER = {
  kind: 'key',
  projectId: 'project-1',
  workspaceId: 'workspace-1',
  actor: 'key:1',
} as Caller;
const PERSON = {
  kind: 'person',
  projectId: null,
  workspaceId: 'workspace-1',
  actor: 'user:1',
} as unknown as Caller;
const CREATED: RouteResponse = { status: 201, headers: { Location: '/x' }, body: { secret: 's3cret' } };
const sealing = createSealing(parseKeyRing(`a:${Buffer.alloc(32, 1).toString('base64')}`));

/** Remembers what is stored. `outcome` is that of each claim. */
function setUp(
  outcome: ClaimOutcome,
  { scopes = ['oldest', 'newer'], fails = false, now = NOW, takes = true } = {},
) {
  const taken: Claim[] = [];
  const claims: ClaimRequest[] = [];
  const stored: string[] = [];
  const released: string[] = [];
  const errors: unknown[] = [];
  const write = (list: string[], entry: string): Promise<void> => {
    list.push(entry);
    return fails ? Promise.reject(new Error('cannot write')) : Promise.resolve();
  };
  const keys: IdempotencyKeys = {
    async claim(request) {
      claims.push(request);
      return outcome;
    },
    storeAnswer: (scope, key, answer) =>
      write(stored, sealing.open(answer, `idempotency_keys.answer:${scope}:${key}`)),
    release: (scope, key) => write(released, `${scope} ${key}`),
    listScopes: async (workspaceId) => scopes.map((scope) => `${workspaceId} ${scope}`),
  };
  const once = createIdempotency({
    keys,
    async takeOver(claim) {
      taken.push(claim);
      return takes;
    },
    sealing,
    clock: () => now,
    onError: (error) => void errors.push(error),
  });
  const send = (run: (claim: Claim) => Promise<RouteResponse>, caller = KEY_CALLER, given = 'k-1') =>
    once({ given, method: 'POST', path: '/api/v1/tasks', body: { a: 1 }, caller }, run);
  return { send, claims, taken, stored, released, errors };
}

const notRun = () => assert.fail('the request runs');
const outage = () => Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });

describe('a request with an idempotency key', () => {
  it('runs with its claim, and its response is stored', async () => {
    const { send, claims, stored, released } = setUp(MINE);
    const given: Claim[] = [];
    const answer = await send(async (claim) => {
      given.push(claim);
      return CREATED;
    });
    assert.deepEqual(answer, CREATED);
    assert.deepEqual(given, [{ scope: 'project-1', key: 'k-1', claimedAt: CLAIMED, takenAt: null }]);
    const hash = requestHash({ method: 'POST', path: '/api/v1/tasks', body: { a: 1 } });
    assert.deepEqual(claims, [
      { scope: 'project-1', key: 'k-1', actor: 'key:1', requestHash: hash, now: NOW },
    ]);
    assert.deepEqual(
      stored.map((text) => JSON.parse(text)),
      [CREATED],
    );
    assert.deepEqual(released, []);
  });

  it('gets the stored response again, marked as a repeat, without running', async () => {
    const context = 'idempotency_keys.answer:project-1:k-1';
    const answer = sealing.seal(JSON.stringify(CREATED), context);
    const { send, stored } = setUp({ outcome: 'answered', answer });
    assert.deepEqual(await send(notRun), {
      ...CREATED,
      headers: { Location: '/x', 'Idempotent-Replayed': 'true' },
    });
    assert.deepEqual(stored, []);
  });

  it('uses the oldest project of the workspace, and keys of its own, for a person', async () => {
    const { send, claims } = setUp(MINE);
    await send(async () => CREATED, PERSON);
    assert.deepEqual(
      claims.map(({ scope, key, actor }) => [scope, key, actor]),
      [['workspace-1 oldest', 'user:1:k-1', 'user:1']],
    );
  });

  it('is refused to a person in a workspace without projects', async () => {
    const { send, claims } = setUp(MINE, { scopes: [] });
    await assert.rejects(send(notRun, PERSON), { code: 'bad_request' });
    assert.deepEqual(claims, []);
  });

  it('is refused if the key is not visible ASCII', async () => {
    const { send, claims } = setUp(MINE);
    for (const key of ['', 'a b', 'é']) {
      await assert.rejects(send(notRun, KEY_CALLER, key), { code: 'bad_request' });
    }
    assert.deepEqual(claims, []);
  });

  it('is refused while the first request is in progress, and if the key belongs to another request', async () => {
    const isAtWork = { code: 'conflict', headers: { 'Retry-After': '1' } };
    await assert.rejects(setUp({ outcome: 'at_work' }).send(notRun), isAtWork);
    await assert.rejects(setUp({ outcome: 'reused' }).send(notRun), { code: 'idempotency_key_reused' });
  });

  it('releases its key if it is rejected', async () => {
    for (const error of [new Problem('forbidden', 'No.'), new Error('a defect')]) {
      const { send, stored, released } = setUp(MINE);
      await assert.rejects(
        send(() => Promise.reject(error)),
        error,
      );
      assert.deepEqual([stored, released], [[], ['project-1 k-1']]);
    }
  });

  it('releases its key if it is refused because a service is down, since nothing was stored', async () => {
    const refusal = new Problem('unavailable', 'Down.', { cause: outage() });
    const { send, released } = setUp(MINE);
    await assert.rejects(
      send(() => Promise.reject(refusal)),
      refusal,
    );
    assert.deepEqual(released, ['project-1 k-1']);
  });

  it('keeps its key if it is the rejected repeat of an interrupted request, which may have taken effect', async () => {
    const { send, released } = setUp({ ...MINE, isFirst: false });
    const error = new Problem('unavailable', 'Too much is waiting.');
    await assert.rejects(
      send(() => Promise.reject(error)),
      error,
    );
    assert.deepEqual(released, []);
  });

  it('keeps its key if it is rejected after a minute, because a repeat may have taken the key over', async () => {
    const { send, released } = setUp(MINE, { now: new Date(CLAIMED.getTime() + 60_000) });
    const error = new Problem('forbidden', 'No.');
    await assert.rejects(
      send(() => Promise.reject(error)),
      error,
    );
    assert.deepEqual(released, []);
  });

  it('runs in place of an interrupted request if it takes the key over, otherwise gets 409', async () => {
    const repeat = { ...MINE, isFirst: false };
    const claim = { scope: 'project-1', key: 'k-1', claimedAt: CLAIMED, takenAt: NOW };
    const first = setUp(repeat);
    const given: Claim[] = [];
    await first.send(async (held) => {
      given.push(held);
      return CREATED;
    });
    assert.deepEqual([given, first.taken], [[claim], [claim]]);
    const second = setUp(repeat, { takes: false });
    await assert.rejects(second.send(notRun), { code: 'conflict', headers: { 'Retry-After': '1' } });
    assert.deepEqual([second.taken, second.released], [[claim], []]);
  });

  it('keeps its key if PostgreSQL fails, since it may have been stored', async () => {
    const error = outage();
    const { send, released } = setUp(MINE);
    await assert.rejects(
      send(() => Promise.reject(error)),
      error,
    );
    assert.deepEqual(released, []);
  });

  it('has its result even if the key cannot be written', async () => {
    const done = setUp(MINE, { fails: true });
    assert.deepEqual(await done.send(async () => CREATED), CREATED);
    assert.deepEqual(done.errors.map(String), ['Error: cannot write']);
    const refused = setUp(MINE, { fails: true });
    await assert.rejects(
      refused.send(() => Promise.reject(new Problem('forbidden', 'No.'))),
      {
        code: 'forbidden',
      },
    );
    assert.deepEqual(refused.errors.map(String), ['Error: cannot write']);
  });
});

describe('the hash of a request', () => {
  const hash = (method: string, path: string, body?: unknown) => requestHash({ method, path, body });

  it('is SHA-256 of method, path and body', () => {
    // printf '["POST","/a",{"b":1}]' | sha256sum
    assert.equal(
      hash('POST', '/a', { b: 1 }),
      'ef655cb2d388d51e5ca68c22683fe00d66ec18c71d5180243aef245d35614c83',
    );
  });

  it('is the same for no body and for null, and differs for other parts', () => {
    assert.equal(hash('POST', '/a'), hash('POST', '/a', null));
    const others = [hash('PUT', '/a'), hash('POST', '/b'), hash('POST', '/a', 0), hash('POST', '/a', {})];
    assert.equal(new Set([hash('POST', '/a'), ...others]).size, 5);
  });
});

describe('the id of a claim', () => {
  const claim = { scope: 'project-1', key: 'k-1', claimedAt: CLAIMED, takenAt: null };

  it('is a UUID of version 7 with the time of the claim, the same for the same claim', () => {
    assert.match(idOfClaim(claim), /^019c13eb-b3a0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(idOfClaim({ ...claim }), idOfClaim(claim));
    assert.equal(idOfClaim({ ...claim, takenAt: NOW }), idOfClaim(claim), 'a repeat has the same id');
  });

  it('differs for another project, another key or another time', () => {
    const others: Claim[] = [
      { ...claim, scope: 'project-2' },
      { ...claim, key: 'k-2' },
      { ...claim, claimedAt: NOW },
    ];
    const tails = [claim, ...others].map((one) => idOfClaim(one).slice(14));
    assert.equal(new Set(tails).size, 4);
  });
});
