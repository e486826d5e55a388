import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { checkout } from '../../dev/common/paths.ts';

/** Returns whether a process with this environment has traces and metrics, and its OpenTelemetry packages. */
async function loadedWith(environment: Record<string, string>): Promise<string[]> {
  const program = `
    import { Module } from 'node:module';
    const log = { warn() {} };
    const { startTelemetry } = await import('./src/runtime/telemetry.ts');
    await import('./workers/delivery-worker.ts');
    const { close, tracing, registry } = await startTelemetry('api', process.env, log);
    const packages = Object.keys(Module._cache).map((path) => /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(path)?.[1]);
    console.log(JSON.stringify({ packages: [...new Set(packages)], isTraced: tracing !== null, isCounted: registry !== null }));
    await close();
  `;
  const words = ['--input-type=module', '-e', program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, words, {
    cwd: checkout,
    env: { PATH: process.env['PATH'], ...environment },
  });
  assert.ok(stdout.startsWith('{'), stderr);
  const { packages, isTraced, isCounted } = JSON.parse(stdout) as {
    packages: string[];
    isTraced: boolean;
    isCounted: boolean;
  };
  const kinds = [isTraced ? 'traced' : 'untraced', isCounted ? 'counted' : 'uncounted'];
  return [...kinds, ...packages.filter((name) => /^@opentelemetry\/(sdk|exporter|otlp)/.test(name))];
}

describe('the telemetry of a process', function () {
  it('is disabled by default, and loads no OpenTelemetry SDK', async () => {
    assert.deepEqual(await loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: '', METRICS_PORT: '' }), [
      'untraced',
      'uncounted',
    ]);
  });

  it('includes traces with an OTLP endpoint, unless they are disabled', async () => {
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';
    const [loaded = [], ...others] = await Promise.all(
      [{}, { OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }].map((more) =>
        loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT, ...more }),
      ),
    );
    assert.equal(loaded[0], 'traced');
    assert.ok(loaded.some((name) => name.startsWith('@opentelemetry/sdk-trace')));
    for (const off of others) assert.deepEqual(off, ['untraced', 'uncounted']);
  });
});
