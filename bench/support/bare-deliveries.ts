import { createHmac, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { Worker, type NativeConnection } from '@temporalio/worker';
import { Agent, request } from 'undici';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { measureMs, runConcurrently, runSteadily, summarize, type Summary } from './measure.ts';

const QUEUE = 'bench-bare';
const WORKFLOWS = join(import.meta.dirname, 'plain-workflow.ts');

type BareTemporal = { connection: NativeConnection; client: Client; namespace: string };

/** Returns the signed POSTs a second of one process to a receiver, over 64 connections. */
export async function measureBarePosts(receiver: string, posts: number): Promise<number> {
  const data = JSON.stringify(sampleData('issue.created'));
  const body = Buffer.from(`{"id":"bare","event":"issue.created","data":${data}}`);
  const bare = new Agent({ connections: 64 });
  const post = async () => {
    const signature = `sha256=${createHmac('sha256', 'bench').update(body).digest('hex')}`;
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
    const answer = await request(`${receiver}/bare`, { method: 'POST', headers, body, dispatcher: bare });
    await answer.body.dump();
  };
  await runConcurrently(posts / 10, 64, post);
  const took = await measureMs(() => runConcurrently(posts, 64, post));
  await bare.close();
  return (1_000 * posts) / took;
}

/** Measures eager starts of empty workflows, 20 a second. */
export async function measureBareStarts(
  { connection, client, namespace }: BareTemporal,
  count: number,
): Promise<Summary> {
  const bare = await Worker.create({ connection, namespace, taskQueue: QUEUE, workflowsPath: WORKFLOWS });
  const start = () =>
    measureMs(() =>
      client.workflow.start('bareTask', {
        workflowId: randomUUID(),
        taskQueue: QUEUE,
        args: [],
        requestEagerStart: true,
      }),
    );
  return await bare.runUntil(async () => {
    await runSteadily(count / 10, start);
    return summarize(await runSteadily(count, start));
  });
}

/** Returns the empty workflows a second, with `atOnce` in parallel. */
export async function measureBareWorkflows(
  { connection, client, namespace }: BareTemporal,
  { workflows, atOnce }: { workflows: number; atOnce: number },
): Promise<number> {
  const bare = await Worker.create({ connection, namespace, taskQueue: QUEUE, workflowsPath: WORKFLOWS });
  const one = async () => {
    const options = { workflowId: randomUUID(), taskQueue: QUEUE, args: [] };
    await client.workflow.execute('bareTask', options);
  };
  return await bare.runUntil(async () => {
    await runConcurrently(atOnce, atOnce, one);
    return (1_000 * workflows) / (await measureMs(() => runConcurrently(workflows, atOnce, one)));
  });
}
