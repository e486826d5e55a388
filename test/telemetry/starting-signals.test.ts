import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { defaultPayloadConverter } from '@temporalio/common';
import { pino } from 'pino';
import { connectTemporal } from '../../src/runtime/temporal.ts';
import { createTracing } from '../../src/telemetry/tracing.ts';
import { createTaskControl } from '../../src/temporal/task-control.ts';
import { TRACE_HEADER } from '../../src/workflows/trace-interceptors.ts';
import { useRuntime } from '../support/runs.ts';
import { services } from '../support/services.ts';
import { startCollector } from './collector.ts';

describe('a signal that starts the workflow of its run', () => {
  before(() => {
    useRuntime(pino({ level: 'silent' }));
    process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
  });

  it('continues the trace of the request', async () => {
    const collector = await startCollector();
    process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = collector.url;
    const tracing = createTracing({ name: 'test', version: '0' }, () => {});
    delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
    const { client, connection } = await connectTemporal(null, tracing);
    const control = createTaskControl({
      client,
      taskQueue: `signals-${randomUUID()}`,
      eagerStart: false,
      searchable: false,
    });
    const run = {
      id: randomUUID(),
      workspaceId: 'workspace',
      projectId: 'project',
      title: 'A task',
      taskType: 'feature' as const,
      rehearsal: null,
      hasCallback: false,
      createdAt: new Date(),
    };
    try {
      const { traceId } = await tracing.span({ name: 'POST', kind: 'server' }, async (span) => {
        assert.equal(await control.pause(run.id, { by: 'person' }, run), 'accepted');
        return span;
      });
      const handle = client.workflow.getHandle(run.id);
      const { events } = await handle.fetchHistory();
      await handle.terminate();
      const header = events?.[0]?.workflowExecutionStartedEventAttributes?.header?.fields?.[TRACE_HEADER];
      assert.ok(header, 'the start has a trace header');
      assert.equal(String(defaultPayloadConverter.fromPayload(header)).split('-')[1], traceId);
    } finally {
      await tracing.close();
      await connection.close();
      await collector.close();
    }
  });
});
