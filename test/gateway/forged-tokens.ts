import { createHmac } from 'node:crypto';

type Claims = Record<string, unknown>;

/** Makes tokens from a good one and the key that signed it, so that each is wrong in one thing alone. */
export function tokenForger(good: string, key: Buffer) {
  const [head = '', claims = '', signature = ''] = good.split('.');
  const header = decoded(head);
  const payload = decoded(claims);
  const signed = (ownHeader: Claims, ownPayload: Claims, by = key) => {
    const content = `${encoded(ownHeader)}.${encoded(ownPayload)}`;
    return `${content}.${createHmac('sha256', by).update(content).digest('base64url')}`;
  };
  const seconds = () => Math.floor(Date.now() / 1_000);
  return {
    /** A good one that is over in so many seconds; below 0 it is over already. */
    endingIn: (lifetime: number) =>
      signed(header, { ...payload, iat: seconds() - 1_000, exp: seconds() + lifetime }),
    /** Those that nobody may come in with. */
    bad: {
      'no token': null,
      'an empty one': '',
      'no JWT': 'x',
      'three words': 'a.b.c',
      'a very long one': 'x'.repeat(10_000),
      'half of a good one': good.slice(0, good.length / 2),
      'alg none': `${encoded({ alg: 'none' })}.${claims}.`,
      'alg none with our key’s id': `${encoded({ ...header, alg: 'none' })}.${claims}.`,
      'another algorithm': signed({ ...header, alg: 'HS512' }, payload),
      'another signer': signed(header, payload, Buffer.alloc(32, 99)),
      'an unknown signer': signed({ ...header, kid: 'another' }, payload),
      'changed claims': `${head}.${encoded({ ...payload, scope: 'webhooks:read' })}.${signature}`,
      'no end': signed(header, { ...payload, exp: undefined }),
      'a subject that is gone': signed(header, {
        ...payload,
        sub: 'user:00000000-0000-7000-8000-000000000000',
      }),
    } satisfies Record<string, string | null>,
  };
}

function encoded(value: Claims): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decoded(part: string): Claims {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Claims;
}
