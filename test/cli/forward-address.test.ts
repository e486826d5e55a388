import assert from 'node:assert/strict';
import { CliError } from '../../cli/exit-codes.ts';
import { forwardAddress } from '../../cli/forward-address.ts';

describe('an address to forward to', () => {
  const forms: ReadonlyArray<readonly [given: string, meant: string]> = [
    ['4000', 'http://localhost:4000/'],
    [':4000/hook', 'http://localhost:4000/hook'],
    ['4000/hook?x=1', 'http://localhost:4000/hook?x=1'],
    ['localhost:4000/hook', 'http://localhost:4000/hook'],
    ['app.test', 'http://app.test/'],
    ['127.0.0.1:4000', 'http://127.0.0.1:4000/'],
    ['[::1]:4000/hook', 'http://[::1]:4000/hook'],
    ['http://localhost:4000/hook#part', 'http://localhost:4000/hook'],
    ['HTTPS://localhost:8443', 'https://localhost:8443/'],
  ];
  for (const [given, meant] of forms) {
    it(`is ${meant} where ${given} is typed`, () => assert.equal(forwardAddress(given), meant));
  }

  for (const given of [
    '',
    'ftp://localhost/',
    '99999',
    'http://',
    'two words',
    'http://me:pass@localhost/',
  ]) {
    it(`is refused where it is "${given}"`, () => {
      assert.throws(
        () => forwardAddress(given),
        (error) => error instanceof CliError && error.exitCode === 2 && !error.message.includes('me:pass'),
      );
    });
  }
});
