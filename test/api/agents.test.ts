import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordCall } from '../../src/database/agents/agent-calls.ts';
import type { ServiceCheck } from '../../cli/agent-checks.ts';
import { cliWith } from '../cli/cli-process.ts';
import { addPerson } from '../support/people.ts';
import { useOwnWorld } from '../support/world.ts';

const CATALOGUE = `
servers:
  fs: { command: file-server, args: [/srv/secret-place], env: [FS_TOKEN] }
  web: { url: https://tools.example/mcp, headers_env: { Authorization: WEB_AUTH }, time_limit: 10 s }
agents:
  ada: { instructions: Build it., model: openai/gpt-5.2, tools: [fs/read_file, web/*, report_progress], limits: { model_calls: 7, cost_usd: 1.5 } }
  scout: { instructions: Look around., a2a: { url: https://scout.example/a2a, headers_env: { Authorization: SCOUT_AUTH } } }
  prog: { instructions: Count., command: [node, /opt/hidden/agent.mjs] }
  idle: { instructions: Rehearse. }
teams:
  feature: [{ step: look, agent: scout }, { step: build, agent: ada, time_limit: 5 min }]
  bug: [{ step: one, agent: ada }]
  spec: [{ step: one, agent: prog }]
  chore: [{ step: one, agent: idle }]
`;

describe('the agents of a service', function () {
  const folder = mkdtempSync(join(tmpdir(), 'baton-agents-'));
  const file = join(folder, 'agents.yml');
  writeFileSync(file, CATALOGUE);
  const world = useOwnWorld({ environment: { AGENTS_FILE: file }, worker: false });
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });
  after(() => rmSync(folder, { recursive: true }));

  it('returns the agents with their backends, and the teams', async () => {
    const { status, json } = await world.send('GET', '/api/v1/agents');
    assert.equal(status, 200);
    assert.deepEqual(
      json.data.map(({ name, backend, model }: { name: string; backend: string; model: string | null }) => [
        name,
        backend,
        model,
      ]),
      [
        ['ada', 'model', 'openai/gpt-5.2'],
        ['scout', 'a2a', null],
        ['prog', 'command', null],
        ['idle', 'rehearsal', null],
      ],
    );
    assert.deepEqual(json.data[0].tools, ['fs/read_file', 'web/*', 'report_progress']);
    assert.deepEqual(json.data[0].limits, { model_calls: 7, tokens: null, cost_usd: 1.5, on_limit: 'fail' });
    assert.deepEqual(json.teams.feature[1], {
      step: 'build',
      agent: 'ada',
      after: ['look'],
      time_limit_ms: 300_000,
    });
    assert.equal(json.planner, null);
  });

  it('returns URLs and commands only to admins, and never names of variables', async () => {
    const member = await addPerson(world, owner, 'member');
    for (const sent of [{}, { key: null, cookie: member }]) {
      const { text, json } = await world.send('GET', '/api/v1/agents', sent);
      assert.doesNotMatch(text, /example|hidden|secret-place|file-server|_AUTH|_TOKEN/);
      assert.deepEqual(json.servers[0], {
        name: 'fs',
        transport: 'stdio',
        time_limit_ms: 60_000,
        address: null,
        command: null,
      });
    }
    const { text, json } = await world.send('GET', '/api/v1/agents', { key: null, cookie: owner });
    assert.deepEqual(json.data[2].command, ['node', '/opt/hidden/agent.mjs']);
    assert.equal(json.data[1].address, 'https://scout.example/a2a');
    assert.equal(json.servers[1].address, 'https://tools.example/mcp');
    assert.doesNotMatch(text, /_AUTH|_TOKEN/);
  });

  it('returns the time and success of the last call of each agent', async () => {
    const { json: task } = await world.submit();
    const call = (name: string, number: number, failure: string | null, startedAt: Date) =>
      recordCall(world.database, {
        place: { executionId: task.execution_id, stepId: randomUUID(), attempt: 1, number },
        kind: 'model',
        name,
        input: null,
        output: null,
        truncated: false,
        usage: null,
        failure,
        startedAt,
        duration_ms: 1,
      });
    await call('openai/gpt-5.2', 1, null, new Date('2026-01-01T10:00:00Z'));
    await call('openai/gpt-5.2', 2, 'refused', new Date('2026-01-02T10:00:00Z'));
    await call('a2a/scout', 3, null, new Date('2026-01-03T10:00:00Z'));
    const { json } = await world.send('GET', '/api/v1/agents');
    assert.deepEqual(
      json.data.map(({ last_call }: { last_call: unknown }) => last_call),
      [
        { at: '2026-01-02T10:00:00.000Z', ok: false },
        { at: '2026-01-03T10:00:00.000Z', ok: true },
        null,
        null,
      ],
    );
  });

  it('are listed by `baton agents check`, untested if they have other settings there', async () => {
    const cli = cliWith({ BATON_URL: world.api.url, BATON_API_KEY: world.installation.api_key });
    try {
      const { stdout } = await cli.run(['agents', 'check', '--json']);
      const { data } = JSON.parse(stdout) as { data: ServiceCheck[] };
      assert.deepEqual(
        data.map(({ agent, backend, by, tested }) => [agent, backend, by, tested]),
        [
          ['ada', 'model', 'openai/gpt-5.2', false],
          ['scout', 'a2a', null, false],
          ['prog', 'command', null, false],
          ['idle', 'rehearsal', null, true],
        ],
      );
      const shown = await cli.run(['agents', 'check']);
      assert.match(shown.stdout, /^ada +model +openai\/gpt-5.2 +(not called yet|✘ last call 2026)/m);
      assert.match(shown.stdout, /^Not tested: ada, scout, prog\. /m);
      const unreachable = { BATON_URL: 'http://127.0.0.1:9' };
      const alone = await cli.run(['agents', 'check'], { env: unreachable });
      assert.match(alone.stderr, /^The service did not list its agents: /m);
      assert.match(alone.stdout, /^architect +rehearsal/m);
    } finally {
      await cli.cleanUp();
    }
  });

  it('returns 401 without credentials', async () => {
    assert.equal((await world.send('GET', '/api/v1/agents', { key: null })).status, 401);
  });
});
