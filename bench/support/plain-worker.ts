import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { Agent, fetch } from 'undici';
import { connectTemporal, installRuntime } from '../../src/runtime/temporal.ts';

/** The activities of the hand-written workflow; `ca` is trusted for its callbacks. */
export function plainActivities(ca: string) {
  const dispatcher = new Agent({ connect: { ca }, connections: 64 });
  return {
    async step({ step }: { id: string; step: number }): Promise<string> {
      return `step ${step} is done`;
    },
    async callback({ id, url }: { id: string; url: string }): Promise<void> {
      const body = JSON.stringify({ execution_id: id, status: 'completed', output: {}, errors: [] });
      const signature = `sha256=${createHmac('sha256', 'secret').update(body).digest('hex')}`;
      const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
      const answer = await fetch(url, { method: 'POST', body, headers, dispatcher });
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`the receiver responded with ${answer.status}`);
    },
  };
}

export const PLAIN_QUEUE = 'bench-plain';

if (import.meta.main) {
  installRuntime(pino({ level: 'warn' }, pino.destination(2)));
  const { connection, namespace } = await connectTemporal();
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: PLAIN_QUEUE,
    workflowsPath: join(import.meta.dirname, 'plain-workflow.ts'),
    activities: plainActivities(readFileSync(process.env['OUTBOUND_CA_FILE'] ?? '', 'utf8')),
  });
  process.on('SIGTERM', () => worker.shutdown());
  process.on('disconnect', () => worker.shutdown());
  const running = worker.run();
  process.send?.({ ready: true });
  await running;
  process.exit(0);
}
