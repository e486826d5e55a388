import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allPages } from '../../dev/docs/markdown.ts';
import { startReceiver } from '../support/receiver.ts';
import { PASSWORD, useWorld } from '../support/world.ts';
import { type Cli, cliWith } from './cli-process.ts';

/** The complete file that the how-to shows. */
const EXAMPLE = exampleOf('docs/how-to/configuration-as-code.md');
const SECRET = 'between Baton and billing';
const TOKEN = /Key +(\S+)\n +The key is not shown again\./;
const GENERATED = /Secret +([0-9a-f]{64})\n +The secret is not shown again\./;

describe('configuration as code', () => {
  const world = useWorld();
  let cli: Cli;

  beforeEach(async () => {
    cli = cliWith({ BATON_URL: world.api.url });
    const { admin_email: email } = world.installation;
    const args = ['login', '--email', email, '--password-stdin'];
    assert.equal((await cli.run(args, { input: PASSWORD })).code, 0);
  });
  afterEach(async () => {
    for (const { id } of await webhooks()) await cli.json(['webhook', 'delete', id]);
    await cli.cleanUp();
  });

  const webhooks = async (): Promise<{ id: string; name: string; url: string; active: boolean }[]> =>
    (await cli.json(['webhook', 'list', '--no-stats'])).data;
  const names = async () => (await webhooks()).map(({ name }) => name).toSorted();
  const pathTo = (name: string) => join(cli.home, name);
  /** Writes the file and applies it. */
  const apply = (text: string, ...more: string[]) => {
    writeFileSync(pathTo('baton.yml'), text);
    return cli.run(['apply', '-f', pathTo('baton.yml'), ...more], { env: { BILLING_SECRET: SECRET } });
  };
  const hook = (name: string, url = 'https://example.com/hook', ...lines: string[]) =>
    [
      `- name: ${name}`,
      `  url: ${url}`,
      '  events: [{ event: issue.created }]',
      ...lines.map((line) => `  ${line}`),
    ]
      .map((line) => `${line}\n`)
      .join('');

  it('exports, shows, applies, and finds nothing to change the second time', async () => {
    const exported = pathTo('exported.yml');
    assert.equal((await cli.run(['export', '-o', exported])).code, 0);
    const first = await cli.run(['apply', '-f', exported]);
    assert.deepEqual([first.code, first.stdout], [0, 'No changes\n']);
    assert.equal((await cli.run(['export', '-o', exported])).code, 2, 'replaces no file');

    const dry = await apply(EXAMPLE, '--dry-run');
    assert.equal(dry.code, 7);
    assert.match(dry.stdout, /^\+ project SHOP\n/);
    assert.match(dry.stdout, /\n\+ webhook "Billing sync"\n/);
    const unasked = await apply(EXAMPLE);
    assert.deepEqual([unasked.code, unasked.stdout], [7, dry.stdout]);
    assert.match(unasked.stderr, /Nothing was changed/);
    assert.deepEqual(await names(), []);

    const applied = await apply(EXAMPLE, '--yes');
    assert.equal(applied.code, 0, applied.stderr);
    assert.match(applied.stdout, /Applied: 5 of 5 changes\n$/);
    const [, token = ''] = TOKEN.exec(applied.stdout) ?? [];
    const [, generated = ''] = GENERATED.exec(applied.stdout) ?? [];
    assert.match(applied.stdout, /Link +http\S+\/invitation#/);
    const whoami = await cli.run(['whoami'], { env: { BATON_API_KEY: token } });
    assert.match(whoami.stdout, /Project +Web shop/);
    for (const secret of [token, generated, SECRET]) assert.ok(secret && !world.logged().includes(secret));
    assert.ok(!applied.stdout.includes(SECRET));

    const again = await apply(EXAMPLE, '--yes');
    assert.deepEqual([again.code, again.stdout], [0, 'No changes\n']);

    const edited = EXAMPLE.replace(/ {2}- name: Dashboard[^]*$/, '').replace(
      'values: [High, Critical]',
      'values: [High]',
    );
    const changed = await apply(edited, '--yes');
    assert.match(
      changed.stdout,
      /^~ webhook "Billing sync"\n {4}events issue\.updated {2}\S.* → .*priority="High" and/,
    );
    assert.deepEqual(await names(), ['Billing sync', 'Dashboard']);
    const pruned = await apply(edited, '--yes', '--prune');
    assert.equal(pruned.code, 0, pruned.stderr);
    assert.match(pruned.stdout, /^- webhook "Dashboard"\n/);
    assert.match(pruned.stdout, /\nKey "First key" of project \S+ revoked\n/);
    assert.match(pruned.stderr, /You are not in the file, and are not removed/);
    assert.deepEqual(await names(), ['Billing sync']);

    assert.equal((await cli.run(['export', '-o', exported, '--force'])).code, 0);
    const text = readFileSync(exported, 'utf8');
    for (const secret of [token, generated, SECRET]) assert.ok(!text.includes(secret));
    const last = await cli.run(['apply', '-f', exported, '--prune']);
    assert.deepEqual([last.code, last.stdout], [0, 'No changes\n']);
  });

  it('asks once in a terminal, and reads standard input', async () => {
    const text = `webhooks:\n${hook('A')}`;
    writeFileSync(pathTo('baton.yml'), text);
    const answering = (input: string) =>
      cli.run(['apply', '-f', pathTo('baton.yml')], { input, terminal: true });
    const no = await answering('\n');
    assert.equal(no.code, 7);
    assert.match(no.stderr, /Apply these changes to workspace "Test" at http\S+\? \[y\/N\]/);
    assert.deepEqual(await names(), []);
    assert.equal((await answering('y\n')).code, 0);
    assert.deepEqual(await names(), ['A']);
    const { changes } = await cli.json(['apply', '-f', '-', '--yes'], { input: `${text}${hook('B')}` });
    assert.deepEqual(
      changes.map(({ name, status }: { name: string; status: string }) => [name, status]),
      [['B', 'applied']],
    );
    assert.match(changes[0].result.secret, /^[0-9a-f]{64}$/);
    const exported = await cli.json(['export']);
    const same = await cli.json(['apply', '-f', '-'], { input: JSON.stringify(exported) });
    assert.deepEqual(same, { changes: [], notes: [] });
  });

  it('signs with the secret of a variable', async () => {
    const receiver = await startReceiver();
    try {
      const { code } = await apply(
        `webhooks:\n${hook('A', receiver.url, 'secret_env: BILLING_SECRET')}`,
        '--yes',
      );
      assert.equal(code, 0);
      const [created] = await webhooks();
      assert.equal((await cli.run(['webhook', 'test', created?.id ?? ''])).code, 0);
      const [request] = await receiver.receives(1);
      const signature = createHmac('sha256', SECRET)
        .update(request?.body ?? '')
        .digest('hex');
      assert.equal(request?.headers['x-service-signature'], `sha256=${signature}`);
    } finally {
      await receiver.close();
    }
  });

  it('changes nothing for an invalid file, a missing secret, or what the workspace rules out', async () => {
    const invalid = await apply(`webhooks:\n${hook('A')}${hook('B', 'ftp://example.com')}`, '--yes');
    assert.equal(invalid.code, 2);
    assert.match(invalid.stderr, /baton\.yml:6: `webhooks\.1\.url` must start with https/);
    const missing = await apply(
      `webhooks:\n${hook('A')}${hook('B', undefined, 'secret_env: NOWHERE')}`,
      '--yes',
    );
    assert.equal(missing.code, 2);
    assert.match(
      missing.stderr,
      /secret of webhook "B" from the environment variable NOWHERE cannot be read/,
    );
    const unknown = await apply(`keys:\n- { name: A, project: NONE }\nwebhooks:\n${hook('A')}`, '--yes');
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /baton\.yml:2: There is no project "NONE"/);
    assert.deepEqual(await names(), []);
  });

  it('names what it applied if a request fails, and continues when it runs again', async () => {
    const text = (url: string) => `webhooks:\n${hook('A')}${hook('B', url)}${hook('C')}`;
    const failed = await apply(text('https://10.0.0.1/'), '--yes');
    assert.equal(failed.code, 5);
    assert.match(failed.stderr, /Failed at webhook "B": `url` is not allowed/);
    assert.match(failed.stderr, /Applied: 1 of 3 changes\. Not applied: webhook "B", webhook "C"\. Run/);
    assert.deepEqual(await names(), ['A']);
    const continued = await apply(text('https://example.com/'), '--yes', '--json');
    assert.deepEqual(
      JSON.parse(continued.stdout).changes.map(({ name }: { name: string }) => name),
      ['B', 'C'],
    );
    assert.deepEqual(await names(), ['A', 'B', 'C']);
  });

  it('can apply only webhooks with a key, and only as its scopes allow', async () => {
    const args = ['--project', world.installation.project_id, '--scope'];
    const keyWith = async (...scopes: string[]): Promise<string> => {
      const name = `K-${randomBytes(4).toString('hex')}`;
      return (await cli.json(['key', 'create', '--name', name, ...args, ...scopes])).key;
    };
    const reader = await keyWith('webhooks:read');
    const as = (BATON_API_KEY: string, input: string) =>
      cli.run(['apply', '-f', '-', '--yes'], { input, env: { BATON_API_KEY } });
    const refused = await as(reader, `webhooks:\n${hook('A')}`);
    assert.equal(refused.code, 5);
    assert.match(refused.stderr, /Failed at webhook "A": .*webhooks:write/);
    const people = await as(reader, 'members: [{ email: eve@example.com, role: viewer }]');
    assert.equal(people.code, 5);
    assert.match(people.stderr, /An API key can only apply `webhooks`/);
    const written = await as(await keyWith('webhooks:read', 'webhooks:write'), `webhooks:\n${hook('A')}`);
    assert.equal(written.code, 0);
    const exported = await cli.run(['export'], { env: { BATON_API_KEY: reader } });
    assert.match(exported.stdout, /\n# - projects, members, invitations, keys: you cannot read them/);
    assert.match(exported.stdout, /\nwebhooks:\n {2}- name: A\n/);
  });
});

/** Returns the first block of YAML of a page. */
function exampleOf(path: string): string {
  const parts = allPages().find((page) => page.path === path)?.parts ?? [];
  const found = parts.find((part) => part.kind === 'block' && part.language === 'yaml');
  assert.ok(found?.kind === 'block', `${path} has no YAML`);
  return found.text;
}
