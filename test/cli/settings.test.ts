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

describe('the target and credentials of the command line', () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;
  let service: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-settings-'));
    env = { HOME: join(folder, 'home') };
    service = join(folder, 'service');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const writeCredentials = (content: object = LOCAL) => {
    mkdirSync(service, { recursive: true });
    writeFileSync(join(service, 'credentials.json'), JSON.stringify(content));
  };
  const signedInAt = (url: string) =>
    storeSession(sessionsPath(env), url, { cookie: 'baton_session=x', email: 'ada@example.com' });
  const settings = (url?: string) => readSettings(env, url, { folder: service });

  it('default to http://localhost:3000 without credentials', () => {
    assert.deepEqual(settings(), {
      baseUrl: 'http://localhost:3000',
      credential: { kind: 'none' },
      local: null,
    });
  });

  it('are those of the local service while it runs', () => {
    writeCredentials();
    assert.deepEqual(settings(), {
      baseUrl: 'http://localhost:3111',
      credential: { kind: 'key', key: 'bt_local' },
      local: LOCAL,
    });
  });

  it('exclude the credentials of the local service for another server', () => {
    writeCredentials();
    assert.deepEqual(settings('https://baton.example.com').credential, { kind: 'none' });
  });

  it('are those of the person who signed in at that server, rather than the key of the local service', () => {
    writeCredentials();
    signedInAt('http://localhost:3111');
    assert.deepEqual(settings().credential, { kind: 'session', cookie: 'baton_session=x' });
    assert.deepEqual(settings('http://localhost:4000').credential, { kind: 'none' });
  });

  it('include BATON_API_KEY before all others', () => {
    writeCredentials();
    signedInAt('http://localhost:3111');
    env.BATON_API_KEY = 'bt_mine';
    const credential = { kind: 'key', key: 'bt_mine' };
    assert.deepEqual(settings(), { baseUrl: 'http://localhost:3111', credential, local: null });
  });

  it('send nothing but the credentials of the file to its address on another machine', () => {
    const elsewhere = { ...LOCAL, base_url: 'https://elsewhere.example.com' };
    writeCredentials(elsewhere);
    assert.deepEqual(settings(), {
      baseUrl: elsewhere.base_url,
      credential: { kind: 'key', key: 'bt_local' },
      local: elsewhere,
    });
    const none = { baseUrl: 'http://localhost:3000', credential: { kind: 'none' }, local: null };
    assert.deepEqual(readSettings(env, undefined, { folder: service, quiet: true }), none);
    env.BATON_API_KEY = 'bt_mine';
    assert.deepEqual(settings(), { ...none, credential: { kind: 'key', key: 'bt_mine' } });
  });

  it('use --url before BATON_URL, without trailing slashes', () => {
    env.BATON_URL = 'https://baton.example.com/base//';
    assert.equal(settings().baseUrl, 'https://baton.example.com/base');
    assert.equal(settings('http://other:1/').baseUrl, 'http://other:1');
  });

  it('exclude a deleted session', () => {
    signedInAt('http://localhost:3000');
    storeSession(sessionsPath(env), 'http://localhost:3000', null);
    assert.deepEqual(settings().credential, { kind: 'none' });
  });

  it('are rejected if a file is damaged', () => {
    mkdirSync(service, { recursive: true });
    writeFileSync(join(service, 'credentials.json'), '{');
    assert.throws(() => settings(), { exitCode: 2, message: /credentials\.json is damaged/ });
    env.BATON_API_KEY = 'bt_mine';
    assert.equal(settings('http://other:1').baseUrl, 'http://other:1', 'no file is needed');
  });
});
