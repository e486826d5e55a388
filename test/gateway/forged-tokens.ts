import { createHmac } from 'node:crypto';

type Claims = Record<string, unknown>;

/** Makes tokens from a valid one and its signing key. Each is wrong in one respect. */
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
    /** Returns a valid token that expires in `lifetime` seconds; one below 0 has expired. */
    endingIn: (lifetime: number) =>
      signed(header, { ...payload, iat: seconds() - 1_000, exp: seconds() + lifetime }),
    /** Returns a valid token with only this scope. */
    limitedTo: (scope: string) => signed(header, { ...payload, scope }),
    /** Tokens that must be rejected. */
    bad: {
      'no token': null,
      'an empty token': '',
      'a text that is not a JWT': 'x',
      'three parts that are not a JWT': 'a.b.c',
      'a very long text': 'x'.repeat(10_000),
      'half of a valid token': good.slice(0, good.length / 2),
      'alg none': `${encoded({ alg: 'none' })}.${claims}.`,
      'alg none with the id of the key': `${encoded({ ...header, alg: 'none' })}.${claims}.`,
      'another algorithm': signed({ ...header, alg: 'HS512' }, payload),
      'another signing key': signed(header, payload, Buffer.alloc(32, 99)),
      'an unknown key id': signed({ ...header, kid: 'another' }, payload),
      'changed claims': `${head}.${encoded({ ...payload, scope: 'webhooks:read' })}.${signature}`,
      'no expiry': signed(header, { ...payload, exp: undefined }),
      'a subject that does not exist': signed(header, {
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
