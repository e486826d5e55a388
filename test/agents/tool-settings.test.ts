import assert from 'node:assert/strict';
import { parseCatalogue } from '../../src/agents/catalogue.ts';
import {
  beginningWithoutSecrets,
  secretsAmong,
  secretsIn,
  withoutSecrets,
} from '../../src/agents/secrets.ts';
import { matchesTool, modelToolName } from '../../src/agents/tool-policy.ts';
import { backendOfAgent } from '../../src/agents/agent-settings.ts';

const TEAMS = ['feature', 'bug', 'spec', 'chore']
  .map((type) => `  ${type}: [{ step: a, agent: ada }]`)
  .join('\n');
const text = (agent: string, servers = '') =>
  `servers: { ${servers} }\nagents: { ada: { instructions: work, ${agent} } }\nteams:\n${TEAMS}\n`;

describe('the tools and agents of a catalogue', () => {
  it('have defaults', () => {
    const { servers } = parseCatalogue(
      text('', 'fs: { command: fs-server }, web: { url: https://t.example/mcp }'),
      'test',
    );
    assert.deepEqual(servers.get('fs'), {
      kind: 'stdio',
      name: 'fs',
      command: 'fs-server',
      args: [],
      env: [],
      cwd: undefined,
      timeLimitMs: 60_000,
      repeatable: [],
    });
    assert.equal(servers.get('web')?.kind, 'http');
  });

  it('can be written in short or in full', () => {
    const agentOf = (agent: string) => parseCatalogue(text(agent), 'test').agents.get('ada') ?? assert.fail();
    assert.deepEqual(agentOf('a2a: https://a.example').a2a, { url: 'https://a.example', headersEnv: {} });
    assert.deepEqual(agentOf('command: [node, x.mjs]').command, {
      command: 'node',
      args: ['x.mjs'],
      env: [],
      cwd: undefined,
    });
    assert.deepEqual(agentOf('command: { run: [node], env: [KEY], cwd: /srv }').command, {
      command: 'node',
      args: [],
      env: ['KEY'],
      cwd: '/srv',
    });
  });

  it('ignore the default model if they are remote agents or programs', () => {
    const { agents } = parseCatalogue(text('command: [x]'), 'test', 'openai/gpt-5.2');
    const ada = agents.get('ada') ?? assert.fail();
    assert.equal(ada.model, null);
    assert.equal(backendOfAgent(ada).backend, 'command');
  });

  const FAULTS: [what: string, agent: string, servers: string, sentence: RegExp][] = [
    [
      'a tool of a server that does not exist',
      'tools: [fs/read]',
      '',
      /agents\.ada\.tools: no server fs for fs\/read/,
    ],
    [
      'a tool that is neither built in nor of a server',
      'tools: [reed]',
      '',
      /no tool reed: use <server>\/<tool>/,
    ],
    ['a server without a tool', 'tools: [fs/]', 'fs: { command: x }', /fs\/ names no tool: use fs\/\*/],
    [
      'a server with both a command and a URL',
      '',
      'fs: { command: x, url: https://t.example }',
      /servers\.fs: must have a command/,
    ],
    [
      'an address with a password',
      '',
      'fs: { url: https://u:p@t.example }',
      /servers\.fs\.url: must not contain a user name or password/,
    ],
    [
      'a name that leaves no room for tools',
      '',
      `${'s'.repeat(33)}: { command: x }`,
      /at most 32 lower-case letters/,
    ],
    ['a URL with another scheme', 'a2a: ftp://a.example', '', /agents\.ada\.a2a: must be an address/],
    ['a call time limit that is too long', '', 'fs: { command: x, time_limit: 2 h }', /servers\.fs/],
    ['a value instead of a variable name', '', 'fs: { command: x, env: [KEY=secret] }', /servers\.fs/],
    ['an agent of two kinds', 'model: openai/x, command: [x]', '', /at most one of model, a2a and command/],
    [
      'tools for an agent that is a program',
      'command: [x], tools: [report_progress]',
      '',
      /must not have tools/,
    ],
    ['an empty command', 'command: []', '', /agents\.ada\.command/],
  ];
  for (const [what, agent, servers, sentence] of FAULTS) {
    it(`reject ${what}, and name the place`, () => {
      assert.throws(() => parseCatalogue(text(agent, servers), 'test'), sentence);
    });
  }
});

describe('the name of a tool', () => {
  it('is accepted by every provider, and unique', () => {
    const names = [
      ['fs', 'read_file'],
      ['fs', 'read.file'],
      ['fs', 'read/file'],
      ['fs', 'a'.repeat(80)],
      ['fs', `${'a'.repeat(79)}b`],
    ].map(([server = '', tool = '']) => modelToolName(server, tool));
    assert.equal(names[0], 'fs__read_file');
    assert.equal(new Set(names).size, names.length);
    assert.ok(names.every((name) => /^fs__[a-zA-Z0-9_-]{1,60}$/.test(name)));
  });

  it('matches the patterns of an allow-list', () => {
    assert.ok(matchesTool(['get_*'], 'get_issue') && matchesTool(['*'], 'anything'));
    assert.ok(
      !matchesTool(['get_*', 'set'], 'set_issue') && !matchesTool([], 'x') && !matchesTool(['a*b'], 'axb'),
    );
  });
});

describe('the secrets of a program', () => {
  const environment = {
    API_TOKEN: 'tok-123456',
    FOLDER: '/srv/data/x',
    SHORT_KEY: 'abc',
    AUTH: 'Bearer zyx-987654',
  };

  it('are the variables with secret names, and are replaced in texts', () => {
    const secrets = secretsAmong(Object.keys(environment), environment);
    const output = 'tok-123456 in /srv/data/x, abc, zyx-987654, Bearer zyx-987654';
    assert.equal(withoutSecrets(output, secrets), '[API_TOKEN] in /srv/data/x, abc, [AUTH], [AUTH]');
  });

  it('include all variables that are used in headers', () => {
    assert.equal(withoutSecrets('at /srv/data/x', secretsIn(['FOLDER'], environment)), 'at [FOLDER]');
  });

  it('are replaced before a text is cut, and removed from the end of a text that was cut in one', () => {
    const secrets = secretsAmong(Object.keys(environment), environment);
    for (const [output, length, beginning] of [
      ['at tok-123456', 100, 'at [API_TOKEN]'],
      ['at tok-123456 and on', 9, 'at [API_T'],
      ['at tok-1234', 11, 'at '],
      ['at tok-123456', 13, 'at '],
      ['at Bearer zyx-98', 16, 'at '],
      ['at to', 100, 'at to'],
    ] as const) {
      assert.equal(beginningWithoutSecrets(output, secrets, length), beginning);
    }
  });
});
