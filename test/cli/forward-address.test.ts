import assert from 'node:assert/strict';
import { CliError } from '../../cli/exit-codes.ts';
import { forwardAddress } from '../../cli/forward-address.ts';

describe('the address to forward to', () => {
  const forms: ReadonlyArray<readonly [input: string, meant: string]> = [
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
  for (const [input, meant] of forms) {
    it(`is ${meant} for ${input}`, () => assert.equal(forwardAddress(input), meant));
  }

  for (const input of [
    '',
    'ftp://localhost/',
    '99999',
    'http://',
    'two words',
    'http://me:pass@localhost/',
  ]) {
    it(`is rejected if it is "${input}"`, () => {
      assert.throws(
        () => forwardAddress(input),
        (error) => error instanceof CliError && error.exitCode === 2 && !error.message.includes('me:pass'),
      );
    });
  }
});
