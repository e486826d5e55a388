import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { carryOut } from '../../cli/workspace-file/carry-out.ts';
import { titleOf, type Change, type Step } from '../../cli/workspace-file/change.ts';
import { describeChanges } from '../../cli/workspace-file/describe.ts';
import { contentOfState, yamlOf } from '../../cli/workspace-file/export-content.ts';
import { readableParts } from '../../cli/workspace-file/export.ts';
import { parseWorkspaceFile } from '../../cli/workspace-file/parse.ts';
import { partsOf, planChanges, type PlanOptions } from '../../cli/workspace-file/plan.ts';
import { readSecrets } from '../../cli/workspace-file/secrets.ts';
import { PARTS, type WorkspaceState } from '../../cli/workspace-file/state.ts';
import { CliError, RetryLater } from '../../cli/exit-codes.ts';
import type { RequestOptions } from '../../cli/http.ts';
import { workspaceFileSchema } from '../../dev/docs/workspace-file-schema.ts';
import { scopesOfRole, type Role } from '../../src/domain/people/access.ts';

const AT = '2026-01-01T00:00:00.000Z';
const NOW = new Date('2026-06-01T00:00:00.000Z');

const shop = { id: 'p1', key: 'SHOP', name: 'Web shop', created_at: AT };
const member = (email: string, role: Role, created_at = AT) => ({
  id: `id-of-${email}`,
  email,
  name: email,
  role,
  created_at,
});
const invitation = (email: string, role: Role) => ({
  id: `i-${email}`,
  email,
  role,
  status: 'open',
  expires_at: AT,
});
const key = (name: string, more: object = {}) => ({
  id: `k-${name}`,
  name,
  prefix: 'bk_',
  project_id: 'p1',
  scopes: ['tasks:read', 'tasks:write'],
  creator: null,
  created_at: AT,
  expires_at: null,
  last_used_at: null,
  revoked_at: null,
  replaced_by: null,
  ...more,
});
const webhook = (name: string, more: Partial<WorkspaceState['webhooks'][number]> = {}) => ({
  id: `w-${name}`,
  name,
  description: null,
  url: 'https://example.com/hook',
  method: 'POST' as const,
  content_type: 'application/json' as const,
  events: [{ event: 'issue.created' as const, filters: [] }],
  has_secret: true,
  include_secret_header: false,
  active: true,
  standard_webhooks: false,
  status: 'active' as const,
  consecutive_failures: 0,
  disabled_at: null,
  disabled_reason: null,
  previous_secret_until: null,
  listening: false,
  created_at: AT,
  updated_at: AT,
  ...more,
});

const stateOf = (given: Partial<WorkspaceState> = {}): WorkspaceState => ({
  projects: [shop],
  members: [member('boss@example.com', 'owner')],
  invitations: [],
  keys: [],
  webhooks: [],
  ...given,
});
const OPTIONS: PlanOptions = { prune: false, now: NOW, userId: 'id-of-boss@example.com', keyId: null };

const planOf = (text: string, given: Partial<WorkspaceState> = {}, options: Partial<PlanOptions> = {}) =>
  planChanges(parseWorkspaceFile(text, 'baton.yml').file, stateOf(given), { ...OPTIONS, ...options });
/** Returns the changes as `action title`. */
const summary = (changes: readonly Change[]) =>
  changes.map((change) => `${change.action} ${titleOf(change)}`);
const faultsOf = (text: string, given: Partial<WorkspaceState> = {}) =>
  planOf(text, given).faults.map(({ message }) => message);

const hook = (lines: string, name = 'A') =>
  `webhooks:\n- name: ${name}\n  url: https://example.com/hook\n  events: [{ event: issue.created }]\n${lines
    .split('\n')
    .map((line) => `  ${line}\n`)
    .join('')}`;

describe('a workspace file', () => {
  const wrong: ReadonlyArray<readonly [what: string, text: string, fault: RegExp]> = [
    ['is empty', '', /baton\.yml:1: The file must have at least one of `projects`/],
    ['is a list', '- name: A\n', /baton\.yml:1: The file must have at least one of/],
    ['is not YAML', 'webhooks:\n  - name: "A\n', /baton\.yml:[23]: /],
    ['has a field twice', 'projects: []\nprojects: []\n', /baton\.yml:2: Map keys must be unique/],
    ['has two documents', 'projects: []\n---\nkeys: []\n', /multiple documents/],
    ['has an unknown tag', 'projects: []\nkeys: !secret []\n', /baton\.yml:2: Unresolved tag/],
    ['has an unknown list', 'projects: []\nhooks: []\n', /baton\.yml:2: `hooks` is not a known field/],
    ['has an unknown field', hook('colour: red'), /baton\.yml:5: `webhooks\.0\.colour` is not a known field/],
    ['has a wrong type', hook('active: maybe'), /baton\.yml:5: `webhooks\.0\.active` must be true or false/],
    ['has a list without entries', 'webhooks:\n', /baton\.yml:1: `webhooks` must be an array/],
    [
      'lacks a field',
      'projects: []\nwebhooks:\n\n- name: A\n  url: https://example.com\n',
      /baton\.yml:4: `webhooks\.0\.events` is required/,
    ],
    [
      'has a filter that the API rejects',
      'webhooks:\n- name: A\n  url: https://example.com\n  events:\n  - event: issue.created\n    filters:\n    - field: colour\n      values: [red]\n',
      /baton\.yml:7: `webhooks\.0\.events\.0\.filters\.0\.field` must be one of status, /,
    ],
    [
      'contains a secret',
      hook('secret: hush'),
      /baton\.yml:5: `webhooks\.0\.secret` must not be in the file/,
    ],
    [
      'has two sources of a secret',
      hook('secret_env: A\nsecret_file: b'),
      /baton\.yml:6: `webhooks\.0\.secret_file` must not be set if `secret_env` is set/,
    ],
    [
      'has a source of no secret',
      hook('has_secret: false\nsecret_env: A'),
      /baton\.yml:6: `webhooks\.0\.secret_env` must not be set if `has_secret` is false/,
    ],
    [
      'requires a secret that it forbids',
      hook('has_secret: false\nstandard_webhooks: true'),
      /baton\.yml:6: `webhooks\.0\.standard_webhooks` requires a secret/,
    ],
    ['has too many aliases', aliasBomb(), /baton\.yml:1: Excessive alias count/],
  ];
  for (const [what, text, fault] of wrong) {
    it(`is rejected if it ${what}`, () => {
      assert.throws(
        () => parseWorkspaceFile(text, 'baton.yml'),
        (error: unknown) =>
          error instanceof CliError &&
          error.exitCode === 2 &&
          fault.test(error.message) &&
          !/hush/.test(error.message),
      );
    });
  }

  it('reports all faults, in the order of their lines', () => {
    assert.throws(() => parseWorkspaceFile('keys: {}\nprojects: 7\nother: 1\n', 'f.yml'), {
      message: /Nothing was changed\.\n {2}f\.yml:1: .*\n {2}f\.yml:2: .*\n {2}f\.yml:3: /,
    });
  });

  it('has a JSON Schema that accepts what is accepted, and rejects unknown fields', () => {
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    const isValid = ajv.compile(JSON.parse(workspaceFileSchema()));
    const events = [{ event: 'issue.updated', filters: [{ field: 'status', changed_to: 'Done' }] }];
    const one = { name: 'A', url: 'https://example.com', events, secret_env: 'A' };
    const keys = [{ name: 'K', project: 'SHOP', expires_at: AT }];
    const members = [{ email: 'a@example.com', role: 'admin' }];
    assert.ok(isValid({ projects: [{ name: 'Shop' }], members, keys, webhooks: [one] }));
    for (const file of [
      { hooks: [] },
      { webhooks: [{ ...one, secret: 'hush' }] },
      { webhooks: [{ ...one, events: [{ event: 'x' }] }] },
      { keys: [{ name: 'K' }] },
    ])
      assert.ok(!isValid(file), JSON.stringify(file));
  });
});

describe('the changes of a workspace', () => {
  it('create objects before they delete others, and change the role of the caller last', () => {
    const text = `
projects: [{ key: NEW, name: New }]
members:
- { email: boss@example.com, role: admin }
- { email: old@example.com, role: viewer }
- { email: next@example.com, role: owner }
- { email: eve@example.com, role: member }
keys: [{ name: CI, project: NEW }]
webhooks: [{ name: A, url: https://example.com, events: [{ event: issue.created }] }]
`;
    const members = [
      member('boss@example.com', 'owner'),
      member('old@example.com', 'admin'),
      member('next@example.com', 'viewer'),
      member('gone@example.com', 'viewer'),
    ];
    const given = {
      members,
      invitations: [invitation('due@example.com', 'viewer')],
      keys: [key('Old')],
      webhooks: [webhook('Old')],
    };
    assert.deepEqual(summary(planOf(text, given, { prune: true }).changes), [
      'create project NEW',
      'change member next@example.com',
      'create invitation of eve@example.com',
      'change member old@example.com',
      'create key "CI" of project NEW',
      'create webhook "A"',
      'delete webhook "Old"',
      'delete key "Old" of project SHOP',
      'delete invitation of due@example.com',
      'delete member gone@example.com',
      'change member boss@example.com',
    ]);
  });

  it('delete nothing without prune, and nothing of lists that the file omits', () => {
    const given = { keys: [key('Old')], webhooks: [webhook('Old')] };
    const text = 'webhooks: []\n';
    assert.deepEqual(planOf(text, given).changes, []);
    assert.deepEqual(summary(planOf(text, given, { prune: true }).changes), ['delete webhook "Old"']);
    assert.deepEqual(partsOf(parseWorkspaceFile(text, 'f').file), ['webhooks']);
    assert.deepEqual(partsOf(parseWorkspaceFile('keys: []', 'f').file), ['projects', 'keys']);
  });

  it('are shown as a difference', () => {
    const text = `
webhooks:
- name: Billing sync
  url: https://billing.example.com
  secret_env: BILLING_SECRET
  events: [{ event: issue.updated, filters: [{ field: status, changed_to: Done }, { field: priority, values: [1, "1"] }] }]
- name: Old CRM
  url: https://new.example.com
  active: false
  events: [{ event: sprint.started }]
`;
    const { changes } = planOf(text, { webhooks: [webhook('Old CRM'), webhook('Unused')] }, { prune: true });
    assert.equal(
      stripVTControlCharacters(describeChanges(changes)),
      `+ webhook "Billing sync"
    url                   https://billing.example.com
    events issue.updated  priority="1",1 and status->"Done"
    secret                from the environment variable BILLING_SECRET
~ webhook "Old CRM"
    url                    https://example.com/hook → https://new.example.com
    events issue.created   every event → none
    events sprint.started  none → every event
    active                 true → false
- webhook "Unused"
    id  w-Unused

1 to create, 1 to change, 1 to delete`,
    );
  });

  describe('of projects', () => {
    it('find a project by its key, or by its name', () => {
      const text = 'projects: [{ key: SHOP, name: Web shop }, { name: Other }, { name: A new one }]\n';
      const other = { ...shop, id: 'p2', key: 'XX', name: 'Other' };
      const { changes, faults } = planOf(text, { projects: [shop, other] });
      assert.deepEqual(summary(changes), ['create project ANEWONE']);
      assert.deepEqual(faults, []);
    });

    it('are rejected if the API does not support them', () => {
      assert.match(faultsOf('projects: [{ key: SHOP, name: Shop }]')[0] ?? '', /cannot be renamed/);
      assert.match(
        faultsOf('projects: [{ name: SHOP }]')[0] ?? '',
        /The key SHOP belongs to project "Web shop"/,
      );
      const twice = 'projects: [{ key: A, name: A }, { name: a }]';
      assert.deepEqual(faultsOf(twice), ['Project A is in the file twice.']);
      const projects = [shop, { ...shop, id: 'p2', key: 'SHOP2' }];
      assert.match(faultsOf('projects: [{ name: Web shop }]', { projects })[0] ?? '', /SHOP, SHOP2/);
      assert.match(faultsOf('keys: [{ name: A, project: Web shop }]', { projects })[0] ?? '', /Use the key/);
      const { changes, notes } = planOf('projects: []', {}, { prune: true });
      assert.deepEqual([changes, notes.length], [[], 1]);
    });
  });

  describe('of members', () => {
    const members = [
      member('boss@example.com', 'owner'),
      member('second@example.com', 'owner', '2025-01-01T00:00:00Z'),
    ];

    it('compare addresses without case, and replace an invitation with another role', () => {
      const text =
        'members: [{ email: EVE@example.com, role: viewer }, { email: Boss@example.com, role: owner }]';
      assert.deepEqual(planOf(text, { invitations: [invitation('eve@example.com', 'viewer')] }).changes, []);
      const [change] = planOf(text, { invitations: [invitation('eve@example.com', 'admin')] }).changes;
      assert.deepEqual(change?.fields, [{ field: 'role', before: 'admin', after: 'viewer' }]);
      assert.deepEqual(change?.request.body, { email: 'eve@example.com', role: 'viewer' });
    });

    it('keep the last owner and the caller', () => {
      const text = 'members: [{ email: eve@example.com, role: owner }]';
      const noBoss = planOf(text, { members }, { prune: true });
      assert.deepEqual(summary(noBoss.changes), [
        'create invitation of eve@example.com',
        'delete member second@example.com',
      ]);
      assert.match(noBoss.notes.join(), /^You are not in the file, and are not removed/);
      const noOwner = planOf('members: []', { members }, { prune: true, userId: null });
      assert.deepEqual(summary(noOwner.changes), ['delete member boss@example.com']);
      assert.deepEqual(noOwner.notes, ['second@example.com is the last owner, and is not removed.']);
      const lowered =
        'members: [{ email: boss@example.com, role: admin }, { email: eve@example.com, role: owner }]';
      assert.match(faultsOf(lowered)[0] ?? '', /last owner/);
      assert.deepEqual(faultsOf(lowered, { members }), []);
    });

    it('are rejected for a member that is listed twice', () => {
      const text = 'members: [{ email: a@example.com, role: viewer }, { email: A@example.com, role: admin }]';
      assert.deepEqual(faultsOf(text), ['Member a@example.com is in the file twice.']);
    });
  });

  describe('of keys', () => {
    it('find a key by project and name, except keys that are replaced', () => {
      const text = 'keys: [{ name: CI, project: Web shop, scopes: [tasks:write, tasks:read] }]';
      assert.deepEqual(planOf(text, { keys: [key('CI'), key('CI', { replaced_by: 'k2' })] }).changes, []);
      const [change] = planOf(text).changes;
      assert.equal(change?.project, 'SHOP');
      assert.deepEqual(change?.request.body, {
        name: 'CI',
        scopes: ['tasks:read', 'tasks:write'],
        expires_at: undefined,
      });
    });

    it('keep the key that the file is applied with', () => {
      const { changes, notes } = planOf(
        'keys: []',
        { keys: [key('A'), key('B')] },
        { prune: true, keyId: 'k-A' },
      );
      assert.deepEqual(summary(changes), ['delete key "B" of project SHOP']);
      assert.match(notes.join(), /key "A" of project SHOP, which is therefore not revoked/);
    });

    const rejected: ReadonlyArray<readonly [entry: string, keys: WorkspaceState['keys'], fault: RegExp]> = [
      ['{ name: A, project: OTHER }', [], /There is no project "OTHER"/],
      [
        '{ name: A, project: SHOP, scopes: [tasks:read] }',
        [key('A')],
        /scopes tasks:read, tasks:write, and a key cannot/,
      ],
      [
        '{ name: A, project: SHOP, expires_at: 2027-01-01T00:00:00Z }',
        [key('A')],
        /expires_at not set, and a key cannot/,
      ],
      ['{ name: A, project: SHOP, expires_at: 2026-06-01T00:00:00Z }', [], /has expired/],
      ['{ name: A, project: SHOP }', [key('A'), key('A', { id: 'k2' })], /several of key "A".*k-A, k2/],
      [
        '{ name: A, project: SHOP }, { name: A, project: Web shop }',
        [],
        /contains key "A" of project SHOP twice/,
      ],
    ];
    for (const [entry, keys, fault] of rejected) {
      it(`are rejected for ${entry}${keys.length === 0 ? '' : ` if ${keys.length} of that name exist`}`, () => {
        assert.match(faultsOf(`keys: [${entry}]`, { keys }).join('; '), fault);
      });
    }

    it('compare the time and not its text', () => {
      const text = 'keys: [{ name: A, project: SHOP, expires_at: 2027-01-01T01:00:00+01:00 }]';
      const keys = [key('A', { expires_at: '2027-01-01T00:00:00.000Z' })];
      assert.deepEqual(planOf(text, { keys }), { changes: [], faults: [], notes: [] });
    });
  });

  describe('of webhooks', () => {
    const edit = (lines: string, more: Parameters<typeof webhook>[1] = {}) =>
      planOf(hook(lines), { webhooks: [webhook('A', more)] });

    it('ignore the order of events, filters and values', () => {
      const filters = [
        { field: 'type' as const, values: ['Bug', 'Task'] },
        { field: 'status' as const, changed_to: 'Done' },
      ];
      const events = [
        { event: 'issue.updated' as const, filters },
        { event: 'issue.created' as const, filters: [] },
      ];
      const text = `
webhooks:
- name: A
  url: https://example.com/hook
  events:
  - event: issue.created
  - event: issue.updated
    filters: [{ field: status, changed_to: Done }, { field: type, values: [Task, Bug] }]
`;
      assert.deepEqual(planOf(text, { webhooks: [webhook('A', { events })] }).changes, []);
    });

    it('show and send a new, a changed and a removed description', () => {
      const table: [string, string | null, string | null][] = [
        ['description: For CI', null, 'For CI'],
        ['description: For CI', 'For billing', 'For CI'],
        ['', 'For billing', null],
      ];
      for (const [lines, before, after] of table) {
        const change = edit(lines, { description: before }).changes[0];
        assert.deepEqual(change?.request.body, { description: after });
        assert.deepEqual(change?.fields, [{ field: 'description', before, after: after ?? 'none' }]);
      }
      assert.deepEqual(edit("description: ''").changes, []);
    });

    it('send only what changes, so that a disabled webhook stays disabled', () => {
      const { changes, notes } = planOf(hook('').replace('/hook', '/new'), {
        webhooks: [webhook('A', { status: 'disabled', disabled_at: AT })],
      });
      assert.deepEqual(changes[0]?.request.body, { url: 'https://example.com/new' });
      assert.match(notes.join(), /disabled because of failures/);
    });

    it('do not compare secrets, and send one only if the API requires it', () => {
      assert.deepEqual(edit('secret_env: MINE').changes, []);
      const first = edit('', { has_secret: false }).changes[0];
      assert.deepEqual(first?.secret, { source: { from: 'generated' }, inHeader: false });
      const withHeader = edit('include_secret_header: true\nsecret_env: MINE').changes[0];
      assert.deepEqual(withHeader?.secret, { source: { from: 'environment', name: 'MINE' }, inHeader: true });
      const removed = edit('has_secret: false').changes[0];
      assert.deepEqual([removed?.request.body, removed?.secret], [{ secret: null }, undefined]);
      const created = planOf(hook('has_secret: false')).changes[0];
      assert.deepEqual([created?.secret, 'has_secret' in (created?.request.body ?? {})], [undefined, false]);
    });

    it('are rejected if the service would reject them', () => {
      assert.match(edit('include_secret_header: true').faults[0]?.message ?? '', /requires the secret/);
      const http = hook('include_secret_header: true').replace('https:', 'http:');
      assert.match(faultsOf(http)[0] ?? '', /over plain http/);
      const consented = planOf(`${http}  allow_secret_over_http: true\n`);
      assert.deepEqual(consented.faults, []);
      assert.equal(consented.changes[0]?.request.body?.['allow_secret_over_http'], true);
      const webhooks = [webhook('A'), webhook('A', { id: 'w2' })];
      assert.match(faultsOf(hook(''), { webhooks })[0] ?? '', /several webhooks "A": w-A, w2/);
      const twice = hook('') + hook('').replace('webhooks:\n', '');
      assert.deepEqual(faultsOf(twice), ['Webhook "A" is in the file twice.']);
    });

    it('ignore webhooks of listeners', () => {
      const webhooks = [webhook('A', { listening: true })];
      assert.deepEqual(summary(planOf(hook(''), { webhooks }, { prune: true }).changes), [
        'create webhook "A"',
      ]);
    });
  });
});

describe('the secrets of changes', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-secrets-'));
    writeFileSync(join(folder, 'one'), 'from the file\n');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const read = (lines: string, env: Record<string, string> = {}) => {
    const { changes } = planOf(hook(lines));
    return [...readSecrets(changes, env, folder).values()];
  };

  it('come from a variable, from a file beside the workspace file, or are generated', () => {
    assert.deepEqual(read('secret_env: MINE', { MINE: 'hush' }), ['hush']);
    assert.deepEqual(read('secret_file: ./one'), ['from the file']);
    assert.match(read('')[0] ?? '', /^[0-9a-f]{64}$/);
    assert.deepEqual(read('has_secret: false'), []);
  });

  const rejected: ReadonlyArray<readonly [lines: string, value: string | undefined, message: RegExp]> = [
    ['secret_env: MINE', undefined, /from the environment variable MINE cannot be read/],
    ['secret_env: MINE', '', /must have at least 1 character/],
    ['secret_env: MINE', 'x'.repeat(257), /must have at most 256 characters/],
    ['secret_env: MINE\ninclude_secret_header: true', 'hu sh', /visible ASCII/],
    ['secret_file: ./none', undefined, /from the file \.\/none cannot be read/],
  ];
  for (const [lines, value, message] of rejected) {
    it(`are rejected without their text: ${message.source}`, () => {
      assert.throws(
        () => read(lines, value === undefined ? {} : { MINE: value }),
        (error: unknown) =>
          error instanceof CliError && message.test(error.message) && !/hu sh|xxx/.test(error.message),
      );
    });
  }
});

describe('applying changes', () => {
  it('stops before the next change if it is interrupted', async () => {
    const aborting = new AbortController();
    const steps = planOf(`${hook('')}${hook('', 'B').replace('webhooks:\n', '')}`).changes.map(
      (change): Step => ({ change, status: 'pending' }),
    );
    const applying = carryOut(steps, {
      api: { call: async <T>() => ({ id: '1' }) as T },
      projectIds: new Map(),
      secrets: new Map(),
      signal: aborting.signal,
      onApplied: () => aborting.abort(),
      onUnknown: () => {},
      onRetry: () => {},
    });
    await assert.rejects(applying, {
      exitCode: 130,
      message: /Applied: 1 of 2 changes\. Not applied: webhook "B"\./,
    });
    assert.deepEqual(
      steps.map(({ status }) => status),
      ['applied', 'pending'],
    );
  });

  const KEY = 'keys:\n- { name: New, project: SHOP }\n';
  const lost = () => new CliError(6, 'No response');

  /** Applies the changes of a file. `responses`: a result, or the error, of each request. */
  const applied = async (file: string, responses: readonly unknown[], patienceMs?: number) => {
    const steps = planOf(file).changes.map((change): Step => ({ change, status: 'pending' }));
    const sentKeys: (string | undefined)[] = [];
    const call = async <T>(_method: string, _path: string, { headers }: RequestOptions = {}) => {
      const response = responses[sentKeys.push(headers?.['idempotency-key']) - 1];
      if (response instanceof Error) throw response;
      return response as T;
    };
    const error = await carryOut(steps, {
      api: { call },
      projectIds: new Map([['SHOP', '1']]),
      secrets: new Map(steps.map(({ change }) => [change, 'generated here'])),
      signal: new AbortController().signal,
      onApplied: () => {},
      onUnknown: () => {},
      onRetry: () => {},
      ...(patienceMs === undefined ? {} : { patienceMs }),
    }).then(
      () => null,
      (reason: CliError) => reason,
    );
    return { error, sentKeys, step: steps[0] };
  };

  it('repeats a creation without a response, with the same idempotency key', async () => {
    const { error, sentKeys, step } = await applied(KEY, [
      lost(),
      new RetryLater('In progress', 1),
      { key: 'bt_1' },
    ]);
    assert.deepEqual([error, sentKeys.length, new Set(sentKeys).size], [null, 3, 1]);
    assert.match(sentKeys[0] ?? '', /^[0-9a-f-]{36}$/);
    assert.deepEqual([step?.status, step?.result], ['applied', { key: 'bt_1' }]);
  });

  it('reports a change without a response as unknown, with the generated secret and what to do', async () => {
    const ofWebhook = await applied(hook(''), [lost()], 0);
    assert.deepEqual(
      [ofWebhook.step?.status, ofWebhook.step?.result],
      ['unknown', { secret: 'generated here' }],
    );
    assert.equal(ofWebhook.error?.exitCode, 6);
    assert.match(
      ofWebhook.error?.message ?? '',
      /unknown whether it took effect\. .*`baton webhook rotate-secret`/,
    );
    const ofKey = await applied(KEY, [lost(), new RetryLater('In progress', 1), new CliError(5, 'Refused')]);
    assert.deepEqual(
      [ofKey.step?.status, ofKey.step?.result, ofKey.error?.exitCode],
      ['unknown', undefined, 5],
    );
    assert.match(ofKey.error?.message ?? '', /`baton key revoke`: the key itself is lost/);
    const refused = await applied(KEY, [new CliError(5, 'Refused')]);
    assert.deepEqual([refused.step?.status, refused.sentKeys.length], ['failed', 1]);
    assert.doesNotMatch(refused.error?.message ?? '', /unknown/);
  });
});

describe('an exported workspace file', () => {
  it('is sorted, and omits defaults and temporary objects', () => {
    const state = stateOf({
      members: [member('b@example.com', 'owner')],
      invitations: [invitation('a@example.com', 'viewer')],
      keys: [key('B'), key('A', { expires_at: AT }), key('A', { replaced_by: 'x' })],
      webhooks: [
        webhook('B', { active: false, has_secret: false }),
        webhook('A'),
        webhook('C', { listening: true }),
      ],
    });
    assert.equal(
      yamlOf(contentOfState(state, PARTS), ['Comment']),
      `# Comment

projects:
  - key: SHOP
    name: Web shop
members:
  - email: a@example.com
    role: viewer
  - email: b@example.com
    role: owner
keys:
  - name: A
    project: SHOP
    scopes:
      - tasks:read
      - tasks:write
    expires_at: ${AT}
  - name: B
    project: SHOP
    scopes:
      - tasks:read
      - tasks:write
webhooks:
  - name: A
    url: https://example.com/hook
    events:
      - event: issue.created
  - name: B
    url: https://example.com/hook
    events:
      - event: issue.created
    active: false
    has_secret: false
`,
    );
  });

  it('is refused if a name does not identify one object', () => {
    const state = stateOf({
      keys: [key('A'), key('A')],
      webhooks: [webhook('B'), webhook('B'), webhook('B')],
    });
    assert.throws(() => contentOfState(state, PARTS), {
      exitCode: 1,
      message: /several of key "A" of project SHOP, webhook "B"\. /,
    });
  });

  it('contains what the credential can read', () => {
    const of = (kind: 'key' | 'person', role: Role | null, scopes: readonly string[]) =>
      readableParts({ kind, role, scopes: [...scopes] }).join();
    assert.equal(of('key', null, ['tasks:read', 'webhooks:read']), 'webhooks');
    assert.equal(of('key', null, ['tasks:read']), '');
    assert.equal(of('person', 'viewer', scopesOfRole('viewer')), 'projects,members,webhooks');
    assert.equal(of('person', 'admin', scopesOfRole('admin')), PARTS.join());
  });

  it('shows no control sequences of names', () => {
    for (const name of ['red\u001B[31m \u0085 "\n\t end', 'right \u202E to left']) {
      const text = yamlOf(contentOfState(stateOf({ webhooks: [webhook(name)] }), ['webhooks']), []);
      assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\u202E]/u);
      assert.equal(parseWorkspaceFile(text, 'f').file.webhooks?.[0]?.name, name);
    }
  });
});

/** Returns YAML whose aliases expand to 10^9 values. */
function aliasBomb(): string {
  const lines = ['projects: []', 'a0: &a0 [1]'];
  for (let level = 1; level < 10; level += 1)
    lines.push(
      `a${level}: &a${level} [${Array(10)
        .fill(`*a${level - 1}`)
        .join(', ')}]`,
    );
  return `${lines.join('\n')}\n`;
}
