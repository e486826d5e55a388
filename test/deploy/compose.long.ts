import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { parse, stringify } from 'yaml';
import { inCheckout } from '../../dev/common/paths.ts';
import { withClient } from '../../dev/services/postgres.ts';
import { pythonTool } from '../../dev/services/python-tools.ts';
import { findTemporalProgram } from '../../dev/services/temporal-binary.ts';
import { readTemporalPlan } from '../../dev/services/temporal-plan.ts';
import { temporalCli } from '../../dev/services/temporal-programs.ts';
import { readProcessConfiguration } from '../../src/runtime/process-configuration.ts';
import { UNNEEDED_SECRETS, type ProcessName } from '../../src/runtime/unneeded-secrets.ts';
import { migrate } from '../../src/database/migrate.ts';
import { createAddressSet } from '../../src/outbound/address-guard.ts';
import { services } from '../support/services.ts';
import {
  interpolated,
  readCompose,
  readEnvironmentFile,
  variablesIn,
  type ComposeFile,
} from './compose-file.ts';

const inDeploy = (...parts: string[]) => inCheckout('deploy', ...parts);
const text = readFileSync(inDeploy('compose.yaml'), 'utf8');
const OURS = ['api', 'gateway', 'task-worker', 'delivery-worker', 'migrate'] as const;

/** Reads strictly: anything that is not in the specification is an error. */
const VALIDATE = `
import sys
from compose_spec import PyCompose
PyCompose.from_yaml(sys.stdin.read()).to_spec()
`;

describe('the compose file', () => {
  let folder: string;
  let values: Record<string, string>;
  let file: ComposeFile;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'baton-compose-'));
    await promisify(execFile)(inDeploy('make-env.sh'), ['https://baton.example.com', join(folder, '.env')]);
    values = readEnvironmentFile(join(folder, '.env'));
    file = readCompose(interpolated(text, values));
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  it('matches the Compose specification', async function () {
    this.timeout(320_000);
    const python = await pythonTool('python');
    const validate = (input: string) => spawnSync(python, ['-c', VALIDATE], { input, encoding: 'utf8' });
    // An engine first replaces variables and merge keys. Then the rules of the specification apply.
    const resolved = stringify(file, { aliasDuplicateObjects: false });
    const judged = validate(resolved);
    assert.equal(judged.status, 0, judged.stderr);
    const broken = validate(resolved.replace('service_healthy', 'healthy'));
    assert.match(broken.stderr, /unknown variant `healthy`/);
  });

  it('gets new random keys and passwords from make-env.sh, which overwrites no existing file', () => {
    const path = join(folder, '.env');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const before = readFileSync(path, 'utf8');
    const again = spawnSync(inDeploy('make-env.sh'), ['https://baton.example.com', path], {
      encoding: 'utf8',
    });
    assert.equal(again.status, 1);
    assert.match(again.stderr, /already exists/);
    assert.equal(readFileSync(path, 'utf8'), before);
    const other = spawnSync(inDeploy('make-env.sh'), ['https://b.example.com', join(folder, 'other')]);
    assert.equal(other.status, 0);
    const others = readEnvironmentFile(join(folder, 'other'));
    assert.deepEqual(Object.keys(others), Object.keys(values));
    for (const [name, value] of Object.entries(values)) assert.notEqual(others[name], value, name);
    assert.equal(spawnSync(inDeploy('make-env.sh'), [], { encoding: 'utf8' }).status, 2);
  });

  it('contains no passwords, and is rejected if one is missing', () => {
    const { all, needed } = variablesIn(text);
    assert.deepEqual([...needed].toSorted(), Object.keys(values).toSorted());
    for (const name of needed)
      assert.throws(
        () => interpolated(text, { ...values, [name]: '' }),
        new RegExp(`${name}: run make-env.sh`),
      );
    const known = readEnvironmentFile(inDeploy('.env.example'));
    assert.deepEqual(Object.keys(known).toSorted(), [...all].toSorted());
    assert.deepEqual(new Set(Object.values(known)), new Set(['']));
  });

  it('starts each process of the image by its name, with a valid configuration', () => {
    for (const name of OURS) {
      const { command, environment, image, read_only: readOnly } = file.services[name] ?? {};
      assert.deepEqual(command, [name]);
      assert.equal(image, 'baton:local');
      assert.equal(readOnly, true);
      const given = Object.fromEntries(
        Object.entries(environment ?? {}).map(([key, to]) => [key, String(to ?? '')]),
      );
      if (name === 'migrate') {
        assert.deepEqual(Object.keys(given), ['DATABASE_URL', 'TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE']);
        continue;
      }
      const process: ProcessName = name;
      const configuration = readProcessConfiguration(process, given);
      assert.ok(configuration.payloadKeys);
      assert.equal(configuration.baseUrl, 'https://baton.example.com');
      const unneeded = UNNEEDED_SECRETS[process].filter((secret) => secret in given);
      assert.deepEqual(unneeded, [], `${name} does not need them`);
    }
    assert.equal(file.services['api']?.deploy?.replicas, 2);
    assert.equal(file.services['gateway']?.deploy?.replicas, 2);
  });

  it("publishes only the ports of the proxy, and the Web UI's on localhost", () => {
    const open = Object.entries(file.services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => `${name} ${port}`),
    );
    const expected = ['proxy 80:80', 'proxy 443:443', 'proxy 443:443/udp', 'temporal-ui 127.0.0.1:8080:8080'];
    assert.deepEqual(open, expected);
  });

  it('trusts the address of the proxy alone, which no other container can get', () => {
    const networksOf = (name: string) => {
      const { networks = [] } = file.services[name] ?? {};
      return Array.isArray(networks) ? networks : Object.keys(networks);
    };
    const proxy = file.services['proxy']?.networks;
    assert.ok(proxy && !Array.isArray(proxy));
    // In a second network with the API, the proxy would connect from a second address.
    assert.deepEqual(Object.keys(proxy), ['serving']);
    const address = proxy['serving']?.ipv4_address ?? '';
    for (const name of ['api', 'gateway']) {
      assert.deepEqual(networksOf(name), ['storage', 'serving']);
      assert.equal(file.services[name]?.environment?.['TRUSTED_PROXIES'], address);
    }
    for (const name of ['task-worker', 'delivery-worker'])
      assert.deepEqual(networksOf(name), ['storage', 'outgoing']);
    const [range] = file.networks['serving']?.ipam?.config ?? [];
    const isIn = (cidr = '') => createAddressSet([cidr]).has(address);
    assert.deepEqual([isIn(range?.subnet), isIn(range?.ip_range)], [true, false]);
  });

  it('mounts only files that exist', () => {
    const mounted = Object.values(file.services).flatMap(({ volumes = [] }) => volumes);
    const files = mounted.filter((one) => one.startsWith('./')).map((one) => one.split(':')[0] ?? '');
    assert.ok(files.length >= 5);
    for (const one of files) assert.ok(existsSync(inDeploy(one)), one);
  });

  it('runs the same version of Temporal as the tests, with the same settings', async () => {
    const plan = readTemporalPlan();
    const cli = await findTemporalProgram(temporalCli(plan.version));
    const { stdout } = await promisify(execFile)(cli, ['--version']);
    const [, server, ui] = /Server ([\d.]+), UI ([\d.]+)/.exec(stdout) ?? [];
    const image = (name: string) => file.services[name]?.image;
    assert.equal(image('temporal'), `docker.io/temporalio/server:${server}`);
    assert.equal(image('temporal-schema'), `docker.io/temporalio/admin-tools:${server}`);
    assert.equal(image('temporal-namespace'), image('temporal-schema'));
    assert.equal(image('temporal-ui'), `docker.io/temporalio/ui:${ui}`);
    const settings = parse(readFileSync(inDeploy('compose', 'temporal-dynamic-config.yaml'), 'utf8'));
    const wanted = Object.entries(plan.dynamic_configuration).map(([key, value]) => [key, [{ value }]]);
    assert.deepEqual(settings, Object.fromEntries(wanted));
  });

  it('creates the namespace with the search attributes, and can do so repeatedly', async function () {
    const plan = readTemporalPlan();
    const cli = await findTemporalProgram(temporalCli(plan.version));
    const namespace = 'compose-test';
    symlinkSync(cli, join(folder, 'temporal'));
    const env = {
      ...process.env,
      PATH: `${folder}:${process.env['PATH']}`,
      TEMPORAL_ADDRESS: services().temporalAddress,
      TEMPORAL_NAMESPACE: namespace,
    };
    const make = () =>
      promisify(execFile)('sh', [inDeploy('compose', 'temporal-namespace.sh')], { env, timeout: 50_000 });
    await make();
    await make();
    const connection = await Connection.connect({ address: services().temporalAddress });
    try {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      for (const name of Object.keys(plan.search_attributes)) assert.ok(name in customAttributes, name);
    } finally {
      await connection.close();
    }
  });

  it('creates databases, and users that can access only their own', async function () {
    const script = readFileSync(inDeploy('compose', 'create-databases.sh'), 'utf8');
    const [, statements = ''] = /<<'SQL'\n([\s\S]*?)\nSQL\n/.exec(script) ?? [];
    // psql replaces these variables; this driver cannot. The server of the tests already has a user `baton`.
    const sql = statements
      .replaceAll(/:'(\w+)'/g, (_whole, name: string) => `'secret-${name}'`)
      .replaceAll(/\b(baton|temporal)\b/g, 'composed_$1');
    await withClient(services().databaseUrl('postgres'), async (client) => {
      for (const statement of sql.split(';\n').filter((one) => one.trim() !== ''))
        await client.query(statement);
    });
    const urlOf = (user: string, password: string, database: string) => {
      const url = new URL(services().databaseUrl(database));
      return Object.assign(url, { username: user, password }).href;
    };
    await migrate(urlOf('composed_baton', 'secret-baton_password', 'composed_baton'));
    const refused = withClient(
      urlOf('composed_temporal', 'secret-temporal_password', 'composed_baton'),
      async () => {},
    );
    await assert.rejects(refused, /permission denied/);
  });
});
