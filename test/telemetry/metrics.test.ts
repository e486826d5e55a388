import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { METRICS } from '../../src/telemetry/metrics.ts';
import { teamText } from '../agents/model-world.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { modelSettings, startModelServer, type ModelServer } from '../support/model-server.ts';
import { openPlain, type PlainChannel } from '../support/plain-channel.ts';
import { EXPRESSIONS, PAGE, readExpressions } from './monitoring-documents.ts';
import { PROCESSES, scrape, startObserved, valueOf, WEBHOOK, type ObservedService } from './observed.ts';

const PRICES = 'prices:\n  openai-compatible/test: { input: 1, output: 2 }\n';

describe('the metrics of the processes', function () {
  this.timeout(300_000);
  let service: ObservedService;
  let models: ModelServer;
  let viewer: PlainChannel;
  const receiver = useCallbackReceiver();
  const folder = mkdtempSync(join(tmpdir(), 'baton-agents-'));

  before(async () => {
    models = await startModelServer(() => ({ text: 'Done.', tokens: [7, 3] }));
    const agents = join(folder, 'agents.yml');
    writeFileSync(agents, teamText({ more: PRICES }));
    service = await startObserved({ AGENTS_FILE: agents, ...modelSettings(models) });
    await work();
  });
  after(async () => {
    await viewer?.close();
    await service?.close();
    await models?.close();
    rmSync(folder, { recursive: true });
  });

  /**
   * Submits a task with a callback, whose run a viewer follows, and an event that one webhook accepts and another one rejects.
   */
  async function work(): Promise<void> {
    receiver.answering(({ url }) => (url === '/refusing' ? 500 : 204));
    for (const path of ['/taking', '/refusing']) {
      const made = await service.send('POST', '/api/v1/webhooks', {
        name: path,
        url: `${receiver.url}${path}`,
        ...WEBHOOK,
      });
      assert.equal(made.status, 201, await made.text());
    }
    const event = { id: 'evt_1', event: 'issue.created', data: { issue: { id: '1' } } };
    assert.equal((await service.send('POST', '/api/v1/events', event)).status, 202);
    assert.equal((await service.send('POST', '/api/v1/events', event)).status, 202);
    const task = {
      title: 'A task',
      project_id: service.installation.project_id,
      task_type: 'bug',
      callback_url: `${receiver.url}/cb`,
    };
    const submitted = await service.send('POST', '/api/v1/tasks', task);
    const { execution_id: id } = (await submitted.json()) as { execution_id: string };
    const { token } = (await (await service.send('POST', '/api/v1/tokens', {})).json()) as { token: string };
    viewer = await openPlain(service.gatewayUrl, token);
    await viewer.ask({ type: 'join', room: `workflow:${id}`, after: 0 });
    await receiver.receives(3);
    await viewer.hears('event');
  }

  /** Returns the samples of several processes. */
  const scrapeAll = async (...names: Parameters<typeof scrape>[1][]) =>
    (await Promise.all(names.map((name) => scrape(service, name)))).flat();

  const reaches = (
    what: string,
    of: Parameters<typeof scrape>[1],
    is: (value: number) => boolean,
    labels = {},
  ) =>
    eventually(`${what} of ${of}`, async () => {
      const value = valueOf(await scrape(service, of), what, labels);
      return value !== null && is(value);
    });

  it('include the name, memory, CPU time and connections of each process', async () => {
    for (const name of PROCESSES) {
      const samples = await scrape(service, name);
      assert.equal(valueOf(samples, 'baton_build_info', { process: name }), 1);
      assert.ok((valueOf(samples, 'process_resident_memory_bytes') ?? 0) > 10e6);
      assert.ok((valueOf(samples, 'process_cpu_seconds_total') ?? 0) > 0.1);
      // A pool closes unused connections.
      assert.notEqual(valueOf(samples, 'baton_database_connections', { state: 'idle' }), null);
    }
  });

  it('count requests by the template of their path, without ids', async () => {
    const samples = await scrape(service, 'api');
    const of = { method: 'POST', route: '/api/v1/events', status: '202' };
    assert.equal(valueOf(samples, 'baton_http_requests_total', of), 2);
    assert.equal(
      valueOf(samples, 'baton_http_request_duration_seconds_count', { route: '/api/v1/events' }),
      2,
    );
    await service.send('GET', `/api/v1/tasks/${crypto.randomUUID()}`);
    await service.send('GET', `/nowhere/${crypto.randomUUID()}`);
    await service.send('BREW', '/api/v1/tasks');
    const later = await scrape(service, 'api');
    assert.equal(valueOf(later, 'baton_http_requests_total', { route: '/api/v1/tasks/{execution_id}' }), 1);
    assert.ok((valueOf(later, 'baton_http_requests_total', { route: 'none' }) ?? 0) >= 1);
    const ids = later.filter(({ labels }) =>
      Object.values(labels).some((value) => /[0-9a-f]{8}-[0-9a-f]{4}-/.test(value)),
    );
    assert.deepEqual(ids, []);
  });

  it('count new and duplicate events separately', async () => {
    const samples = await scrape(service, 'api');
    assert.equal(valueOf(samples, 'baton_events_received_total', { duplicate: 'false' }), 1);
    assert.equal(valueOf(samples, 'baton_events_received_total', { duplicate: 'true' }), 1);
  });

  it('count state transitions and steps of runs, in the process that executed them', async () => {
    await eventually('the run is counted as completed', async () => {
      const both = await scrapeAll('api', 'task-worker');
      return (
        valueOf(both, 'baton_task_transitions_total', { state: 'completed' }) === 1 &&
        valueOf(both, 'baton_task_transitions_total', { state: 'executing' }) === 1 &&
        (valueOf(both, 'baton_steps_total', { outcome: 'completed' }) ?? 0) >= 1 &&
        valueOf(both, 'baton_step_duration_seconds_count') === valueOf(both, 'baton_steps_total')
      );
    });
  });

  it('count callback and delivery attempts by outcome', async () => {
    await eventually('the callback is counted', async () => {
      const both = await scrapeAll('api', 'task-worker');
      return valueOf(both, 'baton_callback_attempts_total', { outcome: 'succeeded' }) === 1;
    });
    const senders = () => scrapeAll('api', 'delivery-worker');
    const failed = { outcome: 'failed', failure: 'status', trigger: 'automatic' };
    await eventually(
      'the failed attempt is counted',
      async () => valueOf(await senders(), 'baton_delivery_attempts_total', failed) === 1,
    );
    const samples = await senders();
    assert.equal(valueOf(samples, 'baton_delivery_attempts_total', { outcome: 'succeeded' }), 1);
    assert.equal(valueOf(samples, 'baton_delivery_attempt_duration_seconds_count'), 2);
    assert.equal(valueOf(samples, 'baton_delivery_lag_seconds_count'), 2);
    const lag = valueOf(samples, 'baton_delivery_lag_seconds_sum') ?? Number.NaN;
    assert.ok(lag > 0, `the lag of two first attempts is ${lag} s`);
  });

  it('include the database statistics and their age', async () => {
    await reaches('baton_deliveries_waiting', 'task-worker', (value) => value === 1, { status: 'retrying' });
    await reaches('baton_webhooks', 'task-worker', (value) => value === 1, { status: 'failing' });
    const samples = await scrape(service, 'task-worker');
    assert.equal(valueOf(samples, 'baton_webhooks', { status: 'active' }), 1);
    assert.equal(valueOf(samples, 'baton_tasks', { state: 'executing' }), 0);
    assert.ok((valueOf(samples, 'baton_stored_figures_age_seconds') ?? -1) >= 0);
    assert.equal(valueOf(await scrape(service, 'delivery-worker'), 'baton_tasks'), null);
  });

  it('include the metrics of the Temporal SDK', async () => {
    for (const name of ['api', 'task-worker', 'delivery-worker'] as const) {
      const samples = await scrape(service, name);
      assert.ok((valueOf(samples, 'temporal_long_request') ?? 0) > 0, name);
      assert.ok((valueOf(samples, 'temporal_worker_task_slots_available') ?? 0) > 0, name);
    }
    assert.ok(!(await scrape(service, 'gateway')).some(({ name }) => name.startsWith('temporal_')));
  });

  it('are not available on the port of the API', async () => {
    assert.equal((await fetch(`${service.url}/metrics`)).status, 404);
  });

  it('are served on the same port as the health checks', async () => {
    for (const name of PROCESSES) {
      assert.equal((await fetch(`${service.observedAt(name)}/health/live`)).status, 200);
      const response = await fetch(`${service.observedAt(name)}/health/ready`);
      const body = (await response.json()) as { status: string; checks: Record<string, { status: string }> };
      assert.deepEqual([response.status, body.status], [200, 'ready'], name);
      for (const check of Object.values(body.checks)) assert.equal(check.status, 'ok');
      assert.equal('workers' in body.checks, name !== 'gateway');
      assert.equal((await fetch(`${service.observedAt(name)}/other`)).status, 404);
      assert.equal((await fetch(`${service.observedAt(name)}/metrics`, { method: 'POST' })).status, 405);
    }
  });

  /** Returns the samples of all processes by their names, after both kinds of attempts were counted. */
  const exposed = () =>
    eventually('both kinds of attempts are counted', async () => {
      const samples = await Promise.all(PROCESSES.map((name) => scrape(service, name)));
      const byName = Map.groupBy(samples.flat(), ({ name }) => name);
      const counted = ['baton_callback_attempts_total', 'baton_delivery_attempts_total'];
      return counted.every((name) => byName.get(name)?.some(({ value }) => value > 0)) && byName;
    });

  it('and their labels are all that alerts and the dashboard use', async () => {
    const known = await exposed();
    const missing = (await readExpressions(EXPRESSIONS)).flatMap(({ of, selectors }) =>
      selectors
        .filter(({ name }) => name !== 'up')
        .flatMap(({ name, equal }) => {
          const samples = known.get(name) ?? [];
          if (samples.length === 0) return [`${of}: ${name}`];
          const has = (label: string, value: string) =>
            label === 'job' || samples.some(({ labels }) => labels[label] === value);
          return Object.entries(equal)
            .filter(([label, value]) => !has(label, value))
            .map(([label, value]) => `${of}: ${name}{${label}="${value}"}`);
        }),
    );
    assert.deepEqual(missing, []);
  });

  it('are those that the documents list', async () => {
    const found = await exposed();
    const names = [...found.keys()]
      .filter((name) => !name.startsWith('temporal_'))
      .map((name) => name.replace(/_(bucket|sum|count)$/, ''));
    const known: string[] = Object.values(METRICS).map(({ name }) => name);
    assert.deepEqual([...new Set(names)].toSorted(), known.toSorted());
    for (const [, name = ''] of PAGE.matchAll(/`(temporal_\w+)`/g)) {
      const isThere = ['', '_count'].some((end) => found.has(`${name}${end}`));
      // This metric exists only after a request has failed.
      assert.ok(isThere || name === 'temporal_request_failure' || name === 'temporal_', name);
    }
  });
});
