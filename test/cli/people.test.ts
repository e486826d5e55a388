import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { withClient } from '../../dev/services/postgres.ts';
import { MAX_PAGE } from '../../src/domain/common/limits.ts';
import { storeKeys } from '../support/people.ts';
import { PASSWORD, useWorld } from '../support/world.ts';
import { type FreshDatabase, freshDatabase } from '../support/services.ts';
import { type Cli, cliWith } from './cli-process.ts';

describe('the command line for people', () => {
  const world = useWorld();
  let cli: Cli;

  const opened: Cli[] = [];

  beforeEach(() => {
    cli = anotherCli();
  });
  afterEach(() => Promise.all(opened.splice(0).map((openCli) => openCli.cleanUp())));

  const anotherCli = (): Cli => {
    const created = cliWith({ BATON_URL: world.api.url });
    opened.push(created);
    return created;
  };

  /** Returns an e-mail address that is unique in the shared service. */
  const addressOf = (name: string) => `${name}-${randomBytes(4).toString('hex')}@example.com`;
  const login = (email = world.installation.admin_email, password = PASSWORD) =>
    cli.run(['login', '--email', email, '--password-stdin'], { input: `${password}\n` });

  it('signs in, shows the current user, and signs out', async () => {
    assert.equal((await cli.spawn(['whoami']).ended).code, 2);
    const { code, stdout } = await login();
    const { admin_email: email } = world.installation;
    assert.deepEqual([code, stdout], [0, `Signed in at ${world.api.url} as ${email}\n`]);
    const path = join(cli.home, '.config', 'baton', 'session.json');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.doesNotMatch(readFileSync(path, 'utf8'), new RegExp(PASSWORD));
    const me = await cli.json(['whoami']);
    assert.deepEqual([me.kind, me.role], ['person', 'owner']);
    assert.match((await cli.run(['whoami'])).stdout, /Role +owner\n/);
    assert.equal((await cli.run(['logout'])).code, 0);
    assert.equal((await cli.run(['whoami'])).code, 2);
    assert.match((await cli.run(['logout'])).stdout, /Not signed in/);
  });

  it('exits with 5 for a wrong password, and does not prompt without a terminal', async () => {
    const { admin_email: email } = world.installation;
    const { code, stderr } = await login(email, 'wrong');
    assert.equal(code, 5);
    assert.match(stderr, /E-mail or password is wrong/);
    assert.equal((await cli.run(['login', '--email', email])).code, 2);
  });

  it('creates, lists, rotates and revokes keys', async () => {
    await login();
    const created = await cli.json(['key', 'create', '--name', 'CI', '--scope', 'tasks:read']);
    assert.deepEqual([created.name, created.scopes], ['CI', ['tasks:read']]);
    const asKey = (key: string) => cli.run(['whoami', '--json'], { env: { BATON_API_KEY: key } });
    assert.equal(JSON.parse((await asKey(created.key)).stdout).key.id, created.id);

    const rotated = await cli.json(['key', 'rotate', created.id, '--overlap-hours', '1']);
    assert.equal((await asKey(created.key)).code, 0);
    assert.equal((await asKey(rotated.key)).code, 0);
    assert.match((await cli.run(['key', 'revoke', rotated.id])).stdout, /revoked/);
    assert.equal((await asKey(rotated.key)).code, 5);

    const { data } = await cli.json(['key', 'list']);
    assert.ok(
      data.some((key: { id: string; revoked_at: string | null }) => key.id === rotated.id && key.revoked_at),
    );
    const { stdout } = await cli.run(['key', 'list']);
    assert.match(stdout, /^KEY +PREFIX/);
    assert.doesNotMatch(stdout, new RegExp(created.key));
    assert.match(stdout, new RegExp(`^${created.id} .*replaced`, 'm'));
    await cli.run(['key', 'revoke', created.id]);
    assert.equal((await asKey(created.key)).code, 5, 'a replaced key can be revoked during the overlap');
  });

  it('creates and lists projects, and requires --project if there are several', async () => {
    await login();
    const created = await cli.json(['project', 'create', '--name', 'Second one', '--key', 'SEC']);
    const { data } = await cli.json(['project', 'list']);
    assert.deepEqual(data.map(({ key }: { key: string }) => key)[0], created.key);
    const { code, stderr } = await cli.run(['task', 'submit', '--title', 'x']);
    assert.equal(code, 2);
    assert.match(stderr, /--project:\n/);
    assert.match(stderr, new RegExp(`${created.id} {2}Second one`));
  });

  it('adds members, changes their roles and removes them', async () => {
    await login();
    const email = addressOf('ada');
    const args = ['member', 'create', '--email', email, '--role', 'viewer'];
    const created = await cli.json(args);
    assert.ok(created.initial_password.length >= 12);
    assert.equal((await cli.json(['member', 'set-role', created.id, 'admin'])).role, 'admin');
    assert.match((await cli.run(['member', 'list'])).stdout, new RegExp(`${email} +ada-\\w+ +admin`));
    assert.equal((await cli.run(args)).code, 5);
    const ada = anotherCli();
    const input = created.initial_password;
    assert.equal((await ada.run(['login', '--email', email, '--password-stdin'], { input })).code, 0);
    assert.equal((await cli.run(['member', 'remove', created.id])).code, 0);
    assert.equal((await ada.run(['whoami'])).code, 5);
  });

  it('lists the keys of a member who is removed, and keeps or revokes them', async () => {
    await login();
    const joined = async () => {
      const email = addressOf('kim');
      const made = await cli.json(['member', 'create', '--email', email, '--role', 'admin']);
      const kim = anotherCli();
      const input = made.initial_password;
      assert.equal((await kim.run(['login', '--email', email, '--password-stdin'], { input })).code, 0);
      const own = ['--name', 'Of Kim', '--project', world.installation.project_id];
      const key = await kim.json(['key', 'create', ...own]);
      return { id: made.id as string, email, key };
    };
    const [kept, revoked] = [await joined(), await joined()];
    const asKey = (key: string) => cli.run(['whoami'], { env: { BATON_API_KEY: key } });
    const { stdout } = await cli.run(['member', 'remove', kept.id]);
    assert.match(stdout, /still valid:\nKEY/);
    assert.match(stdout, new RegExp(`${kept.key.prefix} +Of Kim`));
    assert.equal((await asKey(kept.key.key)).code, 0);
    const list = await cli.run(['key', 'list', '--created-by', kept.id, '--active']);
    assert.match(list.stdout, new RegExp(`${kept.email} \\(removed\\)`));
    const both = await cli.run(['member', 'remove', revoked.id, '--revoke-keys', '--keep-keys']);
    assert.equal(both.code, 2);
    const removed = await cli.json(['member', 'remove', revoked.id, '--revoke-keys']);
    assert.deepEqual([removed.keys_revoked, removed.keys[0].id], [true, revoked.key.id]);
    assert.equal((await asKey(revoked.key.key)).code, 5);
    assert.doesNotMatch(JSON.stringify(removed), new RegExp(revoked.key.key));
  });

  it('lists all keys of a member who is removed, also more than a page', async () => {
    await login();
    const args = ['member', 'create', '--email', addressOf('kim'), '--role', 'admin'];
    const { id } = await cli.json(args);
    await storeKeys(world, id, MAX_PAGE + 1);
    const { keys } = await cli.json(['member', 'remove', id, '--revoke-keys']);
    assert.equal(new Set(keys.map((key: { id: string }) => key.id)).size, MAX_PAGE + 1);
  });

  it('reports that a member does not exist, whatever the id', async () => {
    await login();
    for (const id of [randomUUID(), 'abc']) {
      for (const command of [
        ['member', 'remove', id],
        ['member', 'set-role', id, 'viewer'],
      ]) {
        const { code, stderr } = await cli.run(command);
        assert.equal(code, 5);
        assert.match(stderr, /The member does not exist/);
      }
    }
  });

  it('sends no request with an id that would change the path', async () => {
    const elsewhere = anotherCli();
    const { admin_email: email } = world.installation;
    await elsewhere.run(['login', '--email', email, '--password-stdin'], { input: PASSWORD });
    await login();
    for (const id of ['', '.', '..', '../keys', 'a?b']) {
      for (const [what, command] of [
        ['session', ['session', 'end', id]],
        ['key', ['key', 'revoke', id]],
        ['key', ['key', 'rotate', id]],
        ['member', ['member', 'remove', id]],
        ['member', ['member', 'set-role', id, 'viewer']],
        ['invitation', ['member', 'uninvite', id]],
      ] as const) {
        const { code, stdout, stderr } = await cli.run(command);
        assert.deepEqual([code, stdout, stderr], [2, '', `baton: "${id}" is not a valid ${what} id\n`]);
      }
    }
    assert.equal((await elsewhere.run(['whoami'])).code, 0, 'the other session continues');
  });

  it('creates, lists and revokes invitations', async () => {
    await login();
    const [eve, mel] = [addressOf('eve'), addressOf('mel')];
    const created = await cli.json(['member', 'invite', '--email', eve, '--role', 'member']);
    assert.match(created.url, /\/invitation#[\w-]{43}$/);
    const { stdout } = await cli.run(['member', 'invite', '--email', mel, '--role', 'viewer']);
    assert.match(stdout, /Link +http\S+#/);
    assert.match(stdout, /Mail +not configured: send the link yourself/);
    assert.match((await cli.run(['member', 'uninvite', created.id])).stdout, /revoked/);
    const { data } = await cli.json(['member', 'invitations', '--status', 'open']);
    assert.deepEqual(
      data.map(({ email }: { email: string }) => email),
      [mel],
    );
    assert.match((await cli.run(['member', 'invitations'])).stdout, new RegExp(`${eve} +member +revoked`));
  });

  it('changes the password, and ends all other sessions', async () => {
    await login();
    const bea = addressOf('bea');
    const created = await cli.json(['member', 'create', '--email', bea, '--role', 'viewer']);
    const elsewhere = anotherCli();
    await elsewhere.run(['login', '--email', bea, '--password-stdin'], { input: created.initial_password });
    assert.equal((await login(bea, created.initial_password)).code, 0);
    const { data } = await cli.json(['session', 'list']);
    assert.equal(data.length, 2);
    const change = (lines: string) => cli.run(['password', '--password-stdin'], { input: lines });
    assert.equal((await change(`wrong\na good new password\n`)).code, 5);
    const changed = await change(`${created.initial_password}\na good new password\n`);
    assert.deepEqual([changed.code, changed.stderr], [0, '']);
    assert.equal((await cli.run(['whoami'])).code, 0);
    assert.equal((await elsewhere.run(['whoami'])).code, 5);
    assert.equal((await login(bea, 'a good new password')).code, 0);
    assert.match((await cli.run(['session', 'end-others'])).stdout, /1 session ended/);
    assert.equal((await elsewhere.run(['session', 'list'])).code, 5);
  });

  it('resets a forgotten password of a member, and ends the sessions', async () => {
    const email = addressOf('forgetful');
    await login();
    await cli.run(['member', 'create', '--email', email, '--role', 'admin', '--password-stdin'], {
      input: PASSWORD,
    });
    const person = anotherCli();
    const signIn = (password: string) =>
      person.run(['login', '--email', email, '--password-stdin'], { input: password });
    assert.equal((await signIn(PASSWORD)).code, 0);

    cli.env.DATABASE_URL = world.configuration.databaseUrl;
    const reset = await cli.json(['admin', 'reset-password', email.toUpperCase()]);
    assert.equal(reset.email, email);
    assert.equal((await person.run(['whoami'])).code, 5, 'the session has ended');
    assert.equal((await signIn(PASSWORD)).code, 5);
    assert.equal((await signIn(reset.initial_password)).code, 0);
    const { json } = await world.send('GET', '/api/v1/audit-log', { cookie: await world.signIn() });
    const entry = json.data.find(({ action }: { action: string }) => action === 'person.password_reset');
    assert.deepEqual([entry.actor, entry.detail], ['system', { sessions_ended: 1 }]);

    const chosen = await cli.run(['admin', 'reset-password', email, '--password-stdin'], {
      input: 'another long password',
    });
    assert.equal(chosen.stdout, `E-mail  ${email}\n`);
    assert.equal((await signIn('another long password')).code, 0);
  });

  it('resets no password of a person who is not a member, and to none that is too short', async () => {
    const email = addressOf('unknown');
    cli.env.DATABASE_URL = world.configuration.databaseUrl;
    const unknown = await cli.run(['admin', 'reset-password', email]);
    assert.deepEqual([unknown.code, unknown.stdout], [5, '']);
    assert.match(unknown.stderr, new RegExp(`No workspace has a member ${email}`));
    const short = await cli.run(['admin', 'reset-password', email, '--password-stdin'], {
      input: 'short',
    });
    assert.equal(short.code, 2);
    assert.match(short.stderr, /The password is not valid: .*12/);
  });

  describe('at the setup of an installation', () => {
    let database: FreshDatabase;
    beforeEach(async () => {
      database = await freshDatabase();
    });
    afterEach(() => database.drop());

    const setup = [
      'admin',
      'setup',
      '--workspace',
      'Acme',
      '--project',
      'Main',
      '--email',
      'boss@example.com',
    ];

    it('migrates, creates the first workspace once, and shows key and password', async () => {
      cli.env.DATABASE_URL = database.url;
      assert.match((await cli.run(['admin', 'migrate'])).stdout, /latest schema/);
      const created = await cli.json(setup);
      assert.deepEqual(Object.keys(created).toSorted(), [
        'admin_email',
        'admin_password',
        'api_key',
        'project_id',
        'workspace_id',
      ]);
      const again = await cli.run(setup);
      assert.equal(again.code, 5);
      assert.match(again.stderr, /^baton: this database already has a workspace/);
    });

    const invalid: ReadonlyArray<readonly [what: string, args: readonly string[], input: string, RegExp]> = [
      ['a short password', ['--password-stdin'], 'x', /`--password-stdin` must have at least 12 characters/],
      ['a long password', ['--password-stdin'], 'x'.repeat(1_001), /`--password-stdin` must have at most/],
      ['an e-mail address with a space', ['--email', 'boss@example.com '], '', /`--email` must be/],
      ['no e-mail address', ['--email', 'boss'], '', /`--email` must be/],
      [
        'a project key in lower case',
        ['--project-key', 'main'],
        '',
        /`--project-key` must be 1–10 upper-case/,
      ],
      [
        'blank names',
        ['--workspace', ' ', '--project', '', '--name', ' '],
        '',
        /`--workspace`.*\n.*`--project`.*\n.*`--name`/,
      ],
    ];
    for (const [what, args, input, message] of invalid) {
      it(`writes nothing for ${what}`, async () => {
        cli.env.DATABASE_URL = database.url;
        const refused = await cli.run([...setup, ...args], { input });
        assert.deepEqual([refused.code, refused.stdout], [2, '']);
        assert.match(refused.stderr, message);
        if (input !== '') assert.doesNotMatch(refused.stderr, /xx/);
        const { rows } = await withClient(database.url, (client) => client.query('select * from workspaces'));
        assert.deepEqual(rows, []);
      });
    }

    it('names a missing variable, and hides the password of the database', async () => {
      const missing = await cli.run(['admin', 'migrate']);
      assert.deepEqual([missing.code, missing.stdout], [2, '']);
      assert.match(missing.stderr, /DATABASE_URL/);
      const env = { DATABASE_URL: 'postgres://me:hush@127.0.0.1:1/none' };
      const unreachable = await cli.run(['admin', 'migrate'], { env });
      assert.equal(unreachable.code, 6);
      assert.doesNotMatch(unreachable.stderr, /hush|\n +at /);
    });
  });
});
