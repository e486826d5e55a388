import assert from 'node:assert/strict';
import { parseCatalogue } from '../../src/agents/catalogue.ts';
import { secretsAmong, secretsIn, withoutSecrets } from '../../src/agents/secrets.ts';
import { matchesTool, modelToolName } from '../../src/agents/tool-policy.ts';
import { backendOfAgent } from '../../src/agents/agent-settings.ts';

const TEAMS = ['feature', 'bug', 'spec', 'chore']
  .map((type) => `  ${type}: [{ step: a, agent: ada }]`)
  .join('\n');
const text = (agent: string, servers = '') =>
  `servers: { ${servers} }\nagents: { ada: { instructions: work, ${agent} } }\nteams:\n${TEAMS}\n`;

describe('tools and remote agents in the catalogue', () => {
  it('have what they need by default', () => {
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

  it('may be written in short or with what they need', () => {
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

  it('work elsewhere whatever the default model is', () => {
    const { agents } = parseCatalogue(text('command: [x]'), 'test', 'openai/gpt-5.2');
    const ada = agents.get('ada') ?? assert.fail();
    assert.equal(ada.model, null);
    assert.equal(backendOfAgent(ada).backend, 'command');
  });

  const FAULTS: [what: string, agent: string, servers: string, sentence: RegExp][] = [
    [
      'a tool of a server that is not there',
      'tools: [fs/read]',
      '',
      /agents\.ada\.tools: no server fs for fs\/read/,
    ],
    ['a tool that is neither ours nor a server’s', 'tools: [reed]', '', /no tool reed: use <server>\/<tool>/],
    ['a server without a tool', 'tools: [fs/]', 'fs: { command: x }', /fs\/ names no tool: use fs\/\*/],
    [
      'a server that is both',
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
    ['an address of another kind', 'a2a: ftp://a.example', '', /agents\.ada\.a2a: must be an address/],
    ['a call without end', '', 'fs: { command: x, time_limit: 2 h }', /servers\.fs/],
    ['a value in the place of a variable', '', 'fs: { command: x, env: [KEY=secret] }', /servers\.fs/],
    ['an agent in two places', 'model: openai/x, command: [x]', '', /at most one of model, a2a and command/],
    ['tools for an agent elsewhere', 'command: [x], tools: [report_progress]', '', /must not have tools/],
    ['an empty command', 'command: []', '', /agents\.ada\.command/],
  ];
  for (const [what, agent, servers, sentence] of FAULTS) {
    it(`refuses ${what}, and says where`, () => {
      assert.throws(() => parseCatalogue(text(agent, servers), 'test'), sentence);
    });
  }
});

describe('names of tools', () => {
  it('are what every provider takes, and stay apart', () => {
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

  it('match the patterns of an allow-list', () => {
    assert.ok(matchesTool(['get_*'], 'get_issue') && matchesTool(['*'], 'anything'));
    assert.ok(
      !matchesTool(['get_*', 'set'], 'set_issue') && !matchesTool([], 'x') && !matchesTool(['a*b'], 'axb'),
    );
  });
});

describe('secrets of programs', () => {
  const environment = {
    API_TOKEN: 'tok-123456',
    FOLDER: '/srv/data/x',
    SHORT_KEY: 'abc',
    AUTH: 'Bearer zyx-987654',
  };

  it('are those variables whose names say so, and are not told', () => {
    const secrets = secretsAmong(Object.keys(environment), environment);
    const said = 'tok-123456 in /srv/data/x, abc, zyx-987654, Bearer zyx-987654';
    assert.equal(withoutSecrets(said, secrets), '[API_TOKEN] in /srv/data/x, abc, [AUTH], [AUTH]');
  });

  it('are all variables that go into headers', () => {
    assert.equal(withoutSecrets('at /srv/data/x', secretsIn(['FOLDER'], environment)), 'at [FOLDER]');
  });
});
