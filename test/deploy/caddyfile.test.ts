import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { inCheckout } from '../../dev/common/paths.ts';
import { SIGN_INS } from './sign-ins.ts';

/** proxy.long.ts sends requests to the proxy, if it can be built. */
describe('the limits of the proxy of the compose file', () => {
  const caddyfile = readFileSync(inCheckout('deploy', 'compose', 'Caddyfile'), 'utf8');
  const zones = new Map(
    [...caddyfile.matchAll(/\n\t\tzone (\w+) \{\n(.*?)\n\t\t\}/gs)].map(([, name = '', text = '']) => [
      name,
      text,
    ]),
  );
  const lineOf = (zone: string, word: string) =>
    new RegExp(`^\\t+${word} (.*)$`, 'm').exec(zones.get(zone) ?? '')?.[1] ?? '';

  it('count the requests of each address', () => {
    const limits = [...zones.keys()].map((name) => [
      name,
      lineOf(name, 'key'),
      lineOf(name, 'window'),
      lineOf(name, 'events'),
    ]);
    assert.deepEqual(limits, [
      ['sign_in', '{remote_host}', '1m', '{$PROXY_SIGN_INS_PER_MINUTE:30}'],
      ['openid', '{remote_host}', '1m', '{$PROXY_SIGN_INS_PER_MINUTE:30}'],
      ['handshakes', '{remote_host}', '10s', '{$PROXY_HANDSHAKES_PER_10_S:500}'],
      ['channel', '{remote_host}', '10s', '{$PROXY_CHANNEL_REQUESTS_PER_10_S:5000}'],
      ['requests', '{remote_host}', '1s', '{$PROXY_REQUESTS_PER_SECOND:1000}'],
    ]);
    assert.doesNotMatch(zones.get('requests') ?? '', /match/, 'the last one counts all requests');
  });

  it('are stricter for everything that the service counts as a sign-in', () => {
    const found = spawnSync('grep', ['-rh', "limit: 'sign_in'", inCheckout('src', 'api')]);
    const routes = found.stdout.toString().trim().split('\n');
    assert.equal(routes.length, SIGN_INS.length, 'SIGN_INS and the Caddyfile need the new route');
    const methods = lineOf('sign_in', 'method').split(' ');
    const paths = lineOf('sign_in', 'path').split(' ');
    const isCovered = (path: string) =>
      paths.some((one) => (one.endsWith('*') ? path.startsWith(one.slice(0, -1)) : one === path));
    for (const [method, path] of SIGN_INS) {
      assert.ok(methods.includes(method), method);
      // The API accepts a slash at the end, too.
      assert.ok(isCovered(path) && isCovered(`${path}/`), path);
    }
    assert.equal(lineOf('openid', 'path'), '/api/v1/openid/*');
  });
});
