import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkout, inCheckout } from '../../dev/common/paths.ts';
import { typeCheck } from './type-check.ts';
import { installedClient, type InstalledClient } from './installed-client.ts';

const IMPORTS = /(?:^(?:import|export)\b[^;'"]*?from\s*|\bimport\s*\(?)\s*['"]([^'"]+)['"]/gm;

describe('the client package', function () {
  let client: InstalledClient;
  let files: string[];
  const text = (file: string) => readFileSync(join(client.folder, file), 'utf8');
  const description = () => JSON.parse(text('package.json'));

  before(async () => {
    client = await installedClient();
    files = globSync('**/*', { cwd: client.folder, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(client.folder.length + 1));
  });

  it('contains modules, their types and its readme, and nothing else', () => {
    const others = files.filter((file) => !/^dist\/([a-z-]+\/)?[a-z-]+\.(js|d\.ts)$/.test(file));
    assert.deepEqual(others.toSorted(), ['README.md', 'package.json']);
    for (const file of files.filter((path) => path.endsWith('.js'))) {
      assert.ok(files.includes(file.replace(/\.js$/, '.d.ts')), `${file} has no types`);
    }
  });

  it('contains no paths of the machine that built it, and no source maps', () => {
    for (const file of files) {
      const content = text(file);
      assert.ok(!content.includes(checkout), file);
      assert.doesNotMatch(content, /sourceMappingURL|\/tmp\/|file:\/\//, file);
    }
  });

  it('needs no other package and no module of Node', () => {
    assert.equal(description().dependencies, undefined);
    assert.equal(description().peerDependencies, undefined);
    let imports = 0;
    for (const file of files.filter((path) => /\.(js|ts)$/.test(path))) {
      for (const [, imported = ''] of text(file).matchAll(IMPORTS)) {
        assert.match(imported, /^\.{1,2}\/.*\.js$/, `${file} imports ${imported}`);
        assert.ok(existsSync(join(client.folder, dirname(file), imported)), `${file} imports ${imported}`);
        imports += 1;
      }
    }
    assert.ok(imports > files.length / 2, `only ${imports} imports were seen`);
  });

  it('has the version of the service, and no installation scripts', () => {
    const { version } = JSON.parse(readFileSync(inCheckout('package.json'), 'utf8'));
    const { scripts, ...own } = description();
    assert.equal(scripts, undefined);
    assert.equal(own.version, version);
    assert.equal(own.license, 'UNLICENSED');
    assert.equal(
      JSON.parse(readFileSync(inCheckout('clients/typescript/package.json'), 'utf8')).version,
      version,
    );
  });

  it('maps every export to existing files, types first', () => {
    for (const [name, target] of Object.entries<string | Record<string, string>>(description().exports)) {
      const targets = typeof target === 'string' ? { default: target } : target;
      for (const file of Object.values(targets)) assert.ok(files.includes(file.slice(2)), `${name}: ${file}`);
      if (typeof target !== 'string') assert.deepEqual(Object.keys(target), ['types', 'default']);
    }
  });

  it('can be imported by ES modules, and by CommonJS with import()', () => {
    const consumer = `({ createBaton, verifyWebhook }) => console.log(typeof createBaton, typeof verifyWebhook)`;
    writeFileSync(join(client.project, 'old.cjs'), `import('baton-client').then(${consumer});\n`);
    writeFileSync(
      join(client.project, 'new.js'),
      `import * as all from 'baton-client';\nimport * as verify from 'baton-client/verify';\n(${consumer})({ ...all, ...verify });\n`,
    );
    for (const file of ['old.cjs', 'new.js']) {
      const printed = execFileSync(process.execPath, [file], { cwd: client.project, encoding: 'utf8' });
      assert.equal(printed, 'function function\n', file);
    }
  });

  it('does not export its internal files', async () => {
    writeFileSync(join(client.project, 'inner.js'), `await import('baton-client/dist/http.js');\n`);
    assert.throws(
      () => execFileSync(process.execPath, ['inner.js'], { cwd: client.project, stdio: 'pipe' }),
      /ERR_PACKAGE_PATH_NOT_EXPORTED/,
    );
  });

  const USE = `
    import { createBaton, type Task, type FeedEvent, type WebhookPayloadOf } from 'baton-client';
    import { verifyWebhook } from 'baton-client/verify';
    const baton = createBaton({ baseUrl: 'https://baton.example.com', apiKey: 'key' });
    export const task: Promise<Task> = baton.tasks.get('id');
    export function words(event: FeedEvent): string {
      if (event.type === 'agent.message') return event.data.text;
      // @ts-expect-error -- only what an agent says has a text
      return event.data.text;
    }
    export async function key(body: Uint8Array, headers: Headers): Promise<string | undefined> {
      const payload = await verifyWebhook(body, headers, 'secret');
      if (payload.event !== 'issue.created') return undefined;
      const created: WebhookPayloadOf<'issue.created'> = payload;
      return created.data.issue.key;
    }
    // @ts-expect-error -- a project is needed
    void baton.tasks.submit({ title: 'A task' });
    // @ts-expect-error -- no such state
    void baton.tasks.waitFor('id', { until: 'done' });
    // @ts-expect-error -- no such kind
    void baton.events.send({ event: 'issue.vanished', data: {} });
    // @ts-expect-error -- a list of events answers a list
    const one: { id: string } = await baton.events.send([]);
    void one;
  `;
  const PLACES = {
    'a browser, with a bundler': {
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: ['es2022', 'dom'],
      types: [],
    },
    'Node, without the types of browsers': { module: 'nodenext', lib: ['es2022'], types: ['node'] },
    'both, with all strict options': {
      module: 'nodenext',
      lib: ['esnext', 'dom'],
      types: ['node'],
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      verbatimModuleSyntax: true,
    },
  };
  for (const [place, options] of Object.entries(PLACES)) {
    it(`has types that compile for ${place}`, () => {
      assert.equal(typeCheck(client.project, { 'use.ts': USE }, options), '');
    });
  }

  it('accepts the WebSocket of browsers and of the package ws', () => {
    const program = `
      import { createBaton } from 'baton-client';
      import { WebSocket as Ws } from 'ws';
      export const own = createBaton({ baseUrl: 'https://b.example', token: 't', WebSocket });
      export const other = createBaton({ baseUrl: 'https://b.example', token: 't', WebSocket: Ws });
    `;
    const options = {
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: ['es2022', 'dom'],
      types: ['node'],
      paths: { ws: [inCheckout('node_modules/@types/ws/index.d.ts')] },
      skipLibCheck: true,
    };
    assert.equal(typeCheck(client.project, { 'sockets.ts': program }, options), '');
  });
});
