import assert from 'node:assert/strict';
import { signature } from '../../src/outbound/sign.ts';
import { eventually } from '../support/eventually.ts';
import { EXAMPLES, startExample, useExample } from './receiver-process.ts';

// The secret looks like hex but isn't ASCII, so a receiver must not decode it.
const SECRET = 'c0ffee-grün-€';
const BODY = Buffer.from(
  '{"id":"evt_1","event":"issue.created","timestamp":"2026-05-01T10:00:00.000Z",\n "data": {"title":"Größe 1.0e2"}}',
);

for (const example of EXAMPLES) {
  describe(`the example receiver in ${example.language}`, () => {
    const receiver = useExample(example, SECRET);
    let deliveries = 0;

    const nextDelivery = () => `delivery-${++deliveries}`;
    const send = (headers: Record<string, string>, body = BODY, delivery = nextDelivery()) =>
      fetch(receiver.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-service-event': 'issue.created',
          'x-service-delivery': delivery,
          ...headers,
        },
        body,
      });
    const signed = { 'x-service-signature': signature(SECRET, BODY) };

    it('returns 204 for a valid delivery and prints a line', async () => {
      assert.equal((await send(signed, BODY, 'first')).status, 204);
      const line = await receiver.prints(/delivery first$/);
      assert.equal(line, 'event issue.created evt_1 of 2026-05-01T10:00:00.000Z in delivery first');
    });

    it('processes a repeated delivery once, and returns 204 each time', async () => {
      const statuses = [];
      for (let times = 0; times < 3; times++) statuses.push((await send(signed, BODY, 'repeated')).status);
      assert.deepEqual(statuses, [204, 204, 204]);
      const firstWords = await eventually('three lines are printed', () => {
        const lines = receiver.lines().filter((line) => line.endsWith(' repeated'));
        return lines.length === 3 && lines.map((line) => line.split(' ')[0]);
      });
      assert.deepEqual(firstWords, ['event', 'again', 'again']);
    });

    it('accepts a signature of the previous secret during a rotation', async () => {
      const headers = {
        'x-service-signature': signature('a newer secret', BODY),
        'x-service-signature-previous': signature(SECRET, BODY),
      };
      assert.equal((await send(headers)).status, 204);
    });

    const wrong: ReadonlyArray<readonly [what: string, headers: Record<string, string>]> = [
      ['no signature', {}],
      ['another secret', { 'x-service-signature': signature('other', BODY) }],
      ['another body', { 'x-service-signature': signature(SECRET, Buffer.concat([BODY, Buffer.from(' ')])) }],
      ['an empty signature', { 'x-service-signature': '' }],
      ['the start of the right signature', { 'x-service-signature': signature(SECRET, BODY).slice(0, 20) }],
      ['the right signature and more', { 'x-service-signature': `${signature(SECRET, BODY)}0` }],
      ['a signature without its scheme', { 'x-service-signature': signature(SECRET, BODY).slice(7) }],
      ['non-ASCII letters', { 'x-service-signature': `sha256=${'é'.repeat(64)}` }],
    ];
    for (const [what, headers] of wrong) {
      it(`returns 401 for ${what}, and processes nothing`, async () => {
        const [refused, next] = [nextDelivery(), nextDelivery()];
        assert.equal((await send(headers, BODY, refused)).status, 401);
        assert.equal((await send(signed, BODY, next)).status, 204);
        await receiver.prints(new RegExp(` ${next}$`));
        assert.deepEqual(
          receiver.lines().filter((line) => line.endsWith(` ${refused}`)),
          [],
        );
      });
    }

    it('processes a rejected delivery when it arrives again with a valid signature', async () => {
      assert.equal((await send({ 'x-service-signature': 'sha256=0' }, BODY, 'late')).status, 401);
      assert.equal((await send(signed, BODY, 'late')).status, 204);
      assert.match(await receiver.prints(/ late$/), /^event /);
    });

    it('does not start without a secret', async () => {
      await assert.rejects(startExample(example, ''), /Set WEBHOOK_SECRET/);
    });
  });
}
