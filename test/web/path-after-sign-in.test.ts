import assert from 'node:assert/strict';
import { pathAfterSignIn } from '../../web/pages/sign-in/path-after-sign-in.ts';

describe('the path after the sign-in', () => {
  const after = (requested: string | undefined) => pathAfterSignIn(requested, 'https://baton.example.com');

  it('is the requested page, with its query and fragment', () => {
    for (const path of ['/settings/members?status=open#top', '/', '/a//b']) assert.equal(after(path), path);
  });

  it('is the list of runs for the sign-in page itself, and for other origins', () => {
    for (const path of [
      undefined,
      '',
      '/sign-in?to=/',
      'orchestration',
      '//evil.example.com/',
      '/\\evil.example.com/',
      '/.//evil.example.com/',
      '/a/..//evil.example.com/',
      'https://evil.example.com/',
      'javascript:alert(1)',
    ])
      assert.equal(after(path), '/orchestration', String(path));
  });
});
