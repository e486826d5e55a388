import assert from 'node:assert/strict';
import { cookieOf } from '../../cli/sign-in.ts';

describe('the session of a response', () => {
  const responseWith = (...cookies: string[]) => {
    const headers = new Headers();
    for (const cookie of cookies) headers.append('set-cookie', cookie);
    return new Response('{}', { headers });
  };
  const cookie = (...cookies: string[]) => cookieOf('https://baton.example.com', responseWith(...cookies));

  it('is the cookie with the name of the service, whatever cookies a proxy adds', async () => {
    assert.equal(await cookie('lb=1; Path=/', 'baton_session=abc; Path=/', 'a=b'), 'baton_session=abc');
    assert.equal(
      await cookie('lb=1', '__Host-baton_session=abc; Path=/; Secure'),
      '__Host-baton_session=abc',
    );
  });

  it('is missing if the service sets no such cookie, or an empty one', async () => {
    for (const cookies of [[], ['lb=1'], ['my_baton_session=x'], ['baton_session=; Max-Age=0']]) {
      await assert.rejects(cookie(...cookies), { exitCode: 6, message: /did not return a session\. Check/ });
    }
  });
});
