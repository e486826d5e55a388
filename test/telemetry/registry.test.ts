import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { freePort } from '../../dev/common/free-port.ts';
import { createRegistry } from '../../src/telemetry/registry.ts';
import { openObservation, type Readiness } from '../../src/runtime/observation.ts';
import { NO_TELEMETRY } from '../../src/runtime/telemetry.ts';
import { samplesOf, valueOf } from './observed.ts';

describe('the metrics registry', () => {
  it('returns names, types and series, with escaped special characters in labels', async () => {
    const registry = createRegistry();
    const family = registry.family({
      name: 'made_total',
      type: 'counter',
      help: 'Made.',
      labels: ['of', 'by'],
    });
    family.of('wood', 'a "hand"\\\n').inc(2);
    family.of('wood', 'a "hand"\\\n').inc();
    assert.equal(
      await registry.text(),
      '# HELP made_total Made.\n# TYPE made_total counter\nmade_total{of="wood",by="a \\"hand\\"\\\\\\n"} 3\n',
    );
  });

  it('returns no sample of a metric without a series', async () => {
    const registry = createRegistry();
    registry.family({ name: 'none', type: 'gauge', help: 'x', labels: ['of'] });
    registry.family({ name: 'none_total', type: 'counter', help: 'x', labels: [] });
    assert.deepEqual(samplesOf(await registry.text()), []);
  });

  it('sets a counter to an external value', async () => {
    const registry = createRegistry();
    const series = registry
      .family({ name: 'sent_total', type: 'counter', help: 'x', labels: ['to'] })
      .of('a');
    for (const value of [3, 5]) series.set(value);
    assert.equal(valueOf(samplesOf(await registry.text()), 'sent_total', { to: 'a' }), 5);
  });

  it('accumulates the buckets of a histogram up to +Inf', async () => {
    const registry = createRegistry();
    const seconds = registry.histogram({
      name: 'took_seconds',
      type: 'histogram',
      help: 'x',
      labels: ['of'],
      buckets: [0.1, 1, 10],
    });
    for (const reading of [0.1, 0.5, 0.6, 100]) seconds.observe(reading, 'a');
    const samples = samplesOf(await registry.text());
    const below = (le: string) => valueOf(samples, 'took_seconds_bucket', { of: 'a', le });
    assert.deepEqual(['0.1', '1', '10', '+Inf'].map(below), [1, 3, 3, 4]);
    assert.equal(valueOf(samples, 'took_seconds_count', { of: 'a' }), 4);
    assert.equal(valueOf(samples, 'took_seconds_sum', { of: 'a' }), 101.2);
  });

  it('calls a beforeScrape function once for each scrape', async () => {
    const registry = createRegistry();
    const series = registry.family({ name: 'read', type: 'gauge', help: 'x', labels: [] }).of();
    registry.beforeScrape(() => series.inc());
    await registry.text();
    assert.equal(valueOf(samplesOf(await registry.text()), 'read'), 2);
  });
});

describe('the metrics port of a process', () => {
  const observed = () => ({ ...NO_TELEMETRY, registry: createRegistry() });
  const readyAt = async (port: number) => {
    const response = await fetch(`http://127.0.0.1:${port}/health/ready`);
    return { status: response.status, body: (await response.json()) as Readiness };
  };

  it('reports why the process is not ready', async () => {
    const port = await freePort();
    const observation = await openObservation({ metrics: { host: '127.0.0.1', port } }, observed());
    try {
      const starting = await readyAt(port);
      assert.equal(starting.status, 503);
      assert.equal(starting.body.checks['process']?.reason, 'The process is starting.');
      const reason = 'PostgreSQL is out of reach.';
      observation.setReadiness(async () => ({
        status: 'not_ready',
        checks: { postgres: { status: 'failing', reason } },
      }));
      assert.deepEqual(await readyAt(port), {
        status: 503,
        body: { status: 'not_ready', checks: { postgres: { status: 'failing', reason } } },
      });
    } finally {
      await observation.close();
    }
  });

  it('causes a clear error if it is already in use', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    await assert.rejects(openObservation({ metrics: { host: '127.0.0.1', port } }, observed()), {
      message: `port ${port} on 127.0.0.1 is already in use; stop the program that listens there, or set METRICS_PORT to another port`,
    });
    await new Promise((resolve) => other.close(resolve));
  });
});
