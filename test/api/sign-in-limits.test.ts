import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { addPerson } from '../support/people.ts';
import { assertProblem } from './problems.ts';
import { PASSWORD, useWorld } from '../support/world.ts';

describe('wrong passwords', () => {
  const world = useWorld();
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });

  const signIn = (email: string, password: string) =>
    world.send('POST', '/api/v1/session', { key: null, body: { email, password } });
  const person = async () => {
    const cookie = await addPerson(world, owner, 'viewer');
    return (await world.send('GET', '/api/v1/session', { cookie })).json.user.email as string;
  };
  /** Tries wrong passwords until the response is 429; returns their number. */
  const guess = async (email: string) => {
    for (let count = 0; count < 20; count += 1) {
      const received = await signIn(email, 'wrong');
      if (received.status === 429) return { count, received };
      assertProblem(received, 401, 'unauthenticated');
    }
    throw new Error('the attempts were not limited');
  };

  it('block an account after ten attempts, even for the correct one', async () => {
    const email = await person();
    const { count, received } = await guess(email);
    assert.equal(count, 10);
    assertProblem(received, 429, 'rate_limited');
    assert.ok(Number(received.headers.get('retry-after')) >= 1);
    assertProblem(await signIn(email, PASSWORD), 429, 'rate_limited');
    assertProblem(await signIn(` ${email.toUpperCase()} `, PASSWORD), 429, 'rate_limited');
    assert.equal(
      (await signIn(world.installation.admin_email, PASSWORD)).status,
      201,
      'other accounts are not blocked',
    );
  });

  it('block an unknown account in the same way, with the same message', async () => {
    const unknown = await guess('nobody@example.com');
    const known = await guess(await person());
    assert.equal(unknown.count, known.count);
    const words = (text: string) => text.replace(/\d+ s/, 'N s');
    assert.equal(words(unknown.received.json.detail), words(known.received.json.detail));
  });

  it('are reset by the correct one', async () => {
    const email = await person();
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 9; count += 1) await signIn(email, 'wrong');
      assert.equal((await signIn(email, PASSWORD)).status, 201);
    }
  });

  it('are limited even if they are sent simultaneously', async () => {
    const email = await person();
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => signIn(email, 'wrong')));
    assert.equal(outcomes.filter(({ status }) => status === 401).length, 10);
  });

  it('cause the same number of hashes for known and unknown accounts', async () => {
    const email = await person();
    assert.equal(await hashesOf(() => signIn(email, 'wrong')), 1);
    assert.equal(await hashesOf(() => signIn('unknown@example.com', 'wrong')), 1);
  });
});

/** Counts the Argon2 computations that this process starts during `work`. */
async function hashesOf(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const hook = createHook({ init: (_id, type) => void (count += type === 'ARGON2REQUEST' ? 1 : 0) }).enable();
  await work();
  hook.disable();
  return count;
}
