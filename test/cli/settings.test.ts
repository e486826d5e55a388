import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeSession, readSettings, sessionsPath } from '../../cli/settings.ts';

const LOCAL = {
  base_url: 'http://localhost:3111',
  api_key: 'bt_local',
  admin_email: 'admin@example.com',
  admin_password: 'hush',
};

describe('where the command line goes, and as whom', () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;
  let checkout: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-settings-'));
    env = { HOME: join(folder, 'home') };
    checkout = join(folder, 'checkout');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const runHere = () => {
    mkdirSync(join(checkout, '.local'), { recursive: true });
    writeFileSync(join(checkout, '.local', 'credentials.json'), JSON.stringify(LOCAL));
  };
  const signedInAt = (url: string) =>
    storeSession(sessionsPath(env), url, { cookie: 'baton_session=x', email: 'ada@example.com' });
  const settings = (url?: string) => readSettings(env, url, checkout);

  it('is nowhere in particular without anything', () => {
    assert.deepEqual(settings(), {
      baseUrl: 'http://localhost:3000',
      credential: { kind: 'none' },
      local: null,
    });
  });

  it('is the service of this checkout while it runs', () => {
    runHere();
    assert.deepEqual(settings(), {
      baseUrl: 'http://localhost:3111',
      credential: { kind: 'key', key: 'bt_local' },
      local: LOCAL,
    });
  });

  it('never takes the credentials of this checkout to another server', () => {
    runHere();
    assert.deepEqual(settings('https://baton.example.com').credential, { kind: 'none' });
  });

  it('is whoever signed in at that server, rather than the key of this checkout', () => {
    runHere();
    signedInAt('http://localhost:3111');
    assert.deepEqual(settings().credential, { kind: 'session', cookie: 'baton_session=x' });
    assert.deepEqual(settings('http://localhost:4000').credential, { kind: 'none' });
  });

  it('is BATON_API_KEY before everything', () => {
    runHere();
    signedInAt('http://localhost:3111');
    env.BATON_API_KEY = 'bt_mine';
    assert.deepEqual(settings().credential, { kind: 'key', key: 'bt_mine' });
  });

  it('takes BATON_URL, before it --url, and leaves slashes at the end out', () => {
    env.BATON_URL = 'https://baton.example.com/base//';
    assert.equal(settings().baseUrl, 'https://baton.example.com/base');
    assert.equal(settings('http://other:1/').baseUrl, 'http://other:1');
  });

  it('forgets a session', () => {
    signedInAt('http://localhost:3000');
    storeSession(sessionsPath(env), 'http://localhost:3000', null);
    assert.deepEqual(settings().credential, { kind: 'none' });
  });

  it('says so where a file is broken', () => {
    mkdirSync(join(checkout, '.local'), { recursive: true });
    writeFileSync(join(checkout, '.local', 'credentials.json'), '{');
    assert.throws(() => settings(), { exitCode: 2, message: /credentials\.json is damaged/ });
  });
});
