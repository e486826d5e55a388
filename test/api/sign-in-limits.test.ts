import assert from 'node:assert/strict';
import { addPerson } from '../support/people.ts';
import { assertProblem } from './problems.ts';
import { PASSWORD, startWorld, type World } from '../support/world.ts';

describe('guessing passwords', () => {
  let world: World;
  let owner: string;
  before(async () => {
    world = await startWorld({ worker: false, environment: { SIGN_INS_PER_MINUTE: '1000' } });
    owner = await world.signIn();
  });
  after(async () => await world.close());

  const signIn = (email: string, password: string) =>
    world.send('POST', '/api/v1/session', { key: null, body: { email, password } });
  const person = async () => {
    const cookie = await addPerson(world, owner, 'viewer');
    return (await world.send('GET', '/api/v1/session', { cookie })).json.user.email as string;
  };
  /** Guesses until it is refused; answers after how many. */
  const guess = async (email: string) => {
    for (let count = 0; count < 20; count += 1) {
      const received = await signIn(email, 'wrong');
      if (received.status === 429) return { count, received };
      assertProblem(received, 401, 'unauthenticated');
    }
    throw new Error('nobody was slowed down');
  };

  it('of one account stops after ten, even with the right one', async () => {
    const email = await person();
    const { count, received } = await guess(email);
    assert.equal(count, 10);
    assertProblem(received, 429, 'rate_limited');
    assert.ok(Number(received.headers.get('retry-after')) >= 1);
    assertProblem(await signIn(email, PASSWORD), 429, 'rate_limited');
    assertProblem(await signIn(` ${email.toUpperCase()} `, PASSWORD), 429, 'rate_limited');
    assert.equal((await signIn('owner@example.com', PASSWORD)).status, 201, 'others are not touched');
  });

  it('of an account that does not exist stops in the same way, with the same words', async () => {
    const nobody = await guess('nobody@example.com');
    const somebody = await guess(await person());
    assert.equal(nobody.count, somebody.count);
    const words = (text: string) => text.replace(/\d+ s/, 'N s');
    assert.equal(words(nobody.received.json.detail), words(somebody.received.json.detail));
  });

  it('is forgiven by the right one', async () => {
    const email = await person();
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 9; count += 1) await signIn(email, 'wrong');
      assert.equal((await signIn(email, PASSWORD)).status, 201);
    }
  });

  it('all at once gets no more than one by one', async () => {
    const email = await person();
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => signIn(email, 'wrong')));
    assert.equal(outcomes.filter(({ status }) => status === 401).length, 10);
  });

  it('takes as long for nobody as for somebody', async () => {
    const email = await person();
    const times: Record<'somebody' | 'nobody', number[]> = { somebody: [], nobody: [] };
    for (let round = 0; round < 9; round += 1) {
      for (const [who, address] of [
        ['somebody', email],
        ['nobody', `nobody-${round}@example.com`],
      ] as const) {
        const begun = performance.now();
        await signIn(address, 'wrong');
        times[who].push(performance.now() - begun);
      }
    }
    const middle = (values: number[]) => values.toSorted((one, two) => one - two)[4] ?? 0;
    const [somebody, nobody] = [middle(times.somebody), middle(times.nobody)];
    // The hash alone takes 20 ms and more; without it nobody's answer would be ten times as quick.
    assert.ok(nobody > somebody / 2 && nobody < somebody * 2, `${somebody} ms and ${nobody} ms`);
  });
});
