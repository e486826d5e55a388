import assert from 'node:assert/strict';
import { signature } from '../../src/outbound/sign.ts';
import { eventually } from '../support/eventually.ts';
import { EXAMPLES, startExample, useExample } from './receiver-process.ts';

// Looks like hex and isn't ASCII: neither must tempt a receiver to decode it.
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

    it('answers 204 to a genuine delivery and prints a line', async () => {
      assert.equal((await send(signed, BODY, 'first')).status, 204);
      const line = await receiver.prints(/delivery first$/);
      assert.equal(line, 'event issue.created evt_1 of 2026-05-01T10:00:00.000Z in delivery first');
    });

    it('takes a delivery that comes again only once, and answers 204 again', async () => {
      const statuses = [];
      for (let times = 0; times < 3; times++) statuses.push((await send(signed, BODY, 'repeated')).status);
      assert.deepEqual(statuses, [204, 204, 204]);
      const words = await eventually('three lines are printed', () => {
        const lines = receiver.lines().filter((line) => line.endsWith(' repeated'));
        return lines.length === 3 && lines.map((line) => line.split(' ')[0]);
      });
      assert.deepEqual(words, ['event', 'again', 'again']);
    });

    it('takes what the previous secret signed, while it is being rotated', async () => {
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
      ['letters beyond ASCII', { 'x-service-signature': `sha256=${'é'.repeat(64)}` }],
    ];
    for (const [what, headers] of wrong) {
      it(`answers 401 to ${what}, and takes nothing`, async () => {
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

    it('does not take a refused delivery for a known one', async () => {
      assert.equal((await send({ 'x-service-signature': 'sha256=0' }, BODY, 'late')).status, 401);
      assert.equal((await send(signed, BODY, 'late')).status, 204);
      assert.match(await receiver.prints(/ late$/), /^event /);
    });

    it('does not start without a secret', async () => {
      await assert.rejects(startExample(example, ''), /Set WEBHOOK_SECRET/);
    });
  });
}
