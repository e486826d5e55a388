import assert from 'node:assert/strict';
import { safeReturnPath } from '../../src/security/return-path.ts';

describe('the return path', () => {
  it('is a page of the service, with its query and fragment', () => {
    for (const path of [
      '/',
      '/orchestration',
      '/settings/members?status=open&text=a%20b#top',
      '/apiary',
      '/a//b',
    ]) {
      assert.equal(safeReturnPath(path), path);
    }
    assert.equal(safeReturnPath('/a/../b'), '/b');
  });

  it('is / for other origins, and for paths that are not screens', () => {
    const others = [
      undefined,
      null,
      ['/a'],
      '',
      'orchestration',
      'https://evil.example.com/',
      '//evil.example.com',
      '//evil.example.com/a',
      `/${'a/../'.repeat(250)}b`,
      '///evil.example.com',
      '/\\evil.example.com',
      '\\\\evil.example.com',
      '/.//evil.example.com',
      '/a/..//evil.example.com',
      '/%2e//evil.example.com',
      '/\t/evil.example.com',
      '/\n/evil.example.com',
      ' //evil.example.com',
      'javascript:alert(1)',
      '/api/v1/session',
      '/api',
      '/sign-in?problem=openid_failed',
      `/${'x'.repeat(1_001)}`,
      `/${'ü'.repeat(500)}`,
    ];
    for (const wanted of others) assert.equal(safeReturnPath(wanted), '/', String(wanted));
  });
});
