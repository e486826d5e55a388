import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { Agent, request } from 'undici';
import { startNodeService } from '../dev/node-service.ts';
import { freePort } from '../dev/free-port.ts';
import { connectDatabase } from '../src/database/connect.ts';
import { setUpInstallation } from '../src/installation.ts';
import { freshDatabase, services } from '../test/support/services.ts';
import { connectTemporal, installRuntime } from '../workers/temporal.ts';
import { startCallbackReceiver } from './support/callback-receiver.ts';
import { cpuSecondsAround, sideBySide, summarise, table, timed, type Summary } from './support/figures.ts';
import { PLAIN_QUEUE } from './support/plain-worker.ts';

/*
 * `npm run bench tasks [-- <runs>]`: what a task costs, beside a bare eager workflow, a plain hand-written one and
 * a raw INSERT, all measured in this run on the same server. Only the ratios travel from machine to machine.
 */
const ONE_BY_ONE = Number(process.argv[2] ?? 200);
const TOGETHER = ONE_BY_ONE * 2;
const SUBMITTERS = 50;
const REHEARSAL = { steps: 3 };

const { temporalAddress, tls, tlsFiles } = services();
process.env['TEMPORAL_ADDRESS'] = temporalAddress;
installRuntime(pino({ level: 'warn' }, pino.destination(2)));
const { connection, client, namespace } = await connectTemporal();
const fresh = await freshDatabase();
const installation = await setUpInstallation(fresh.url, {
  workspaceName: 'Bench',
  projectName: 'Bench',
  adminEmail: 'bench@example.com',
});
const receiver = await startCallbackReceiver(tls);
const folder = mkdtempSync(join(tmpdir(), 'baton-bench-'));
const ring = `bench:${randomBytes(32).toString('base64')}`;
const port = await freePort();
const environment = {
  ...process.env,
  DATABASE_URL: fresh.url,
  TEMPORAL_ADDRESS: temporalAddress,
  BATON_SEALING_KEYS: ring,
  BATON_TOKEN_KEYS: ring,
  OUTBOUND_ALLOW: '127.0.0.0/8,::1/128',
  OUTBOUND_CA_FILE: tlsFiles.ca,
  RATE_LIMIT_PER_SECOND: '100000',
  RATE_LIMIT_BURST: '100000',
  LOG_LEVEL: 'warn',
  PORT: String(port),
};
const root = join(import.meta.dirname, '..');
const start = (name: string, file: string, nodeOptions?: string[]) =>
  startNodeService({
    name,
    root: join(root, file),
    logFile: join(folder, `${name}.log`),
    environment,
    ...(nodeOptions ? { nodeOptions } : {}),
  });

async function bareEager(): Promise<Summary> {
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: 'bench-bare',
    workflowsPath: join(import.meta.dirname, 'support/plain-workflow.ts'),
    maxConcurrentActivityTaskExecutions: 1,
  });
  const samples: number[] = [];
  await worker.runUntil(async () => {
    for (let number = 0; number < ONE_BY_ONE; number += 1) {
      const workflowId = randomUUID();
      const options = { workflowId, taskQueue: 'bench-bare', args: [], requestEagerStart: true };
      let handle = client.workflow.getHandle(workflowId);
      samples.push(
        await timed(async () => {
          handle = await client.workflow.start('bareTask', options);
        }),
      );
      await handle.result();
    }
  });
  return summarise(samples.slice(10));
}

async function rawInsert(): Promise<Summary> {
  const database = await connectDatabase(fresh.url, 1);
  const insert = database.em.fork();
  await insert.execute('create table bench_raw (id uuid primary key, body text)');
  const samples: number[] = [];
  for (let number = 0; number < ONE_BY_ONE; number += 1) {
    samples.push(
      await timed(() =>
        insert.execute('insert into bench_raw values (?, ?)', [randomUUID(), 'x'.repeat(500)]),
      ),
    );
  }
  await database.close();
  return summarise(samples.slice(10));
}

/** Something that takes a task in and answers its id. */
type Submit = () => Promise<string>;
type Load = { submit: Summary; toCallback: Summary; perSecond: number; cpuPerTask: number };

async function load(submit: Submit): Promise<Load> {
  const submits: number[] = [];
  const callbacks: number[] = [];
  const oneTask = async () => {
    const began = performance.now();
    const id = await submit();
    submits.push(performance.now() - began);
    callbacks.push((await receiver.arrival(id)) - began);
    return id;
  };
  // One after another means that the one before is over, its workflow closed and all.
  const oneWholeTask = async () => {
    await client.workflow.getHandle(await oneTask()).result();
  };
  for (let number = 0; number < 20; number += 1) await oneWholeTask();
  submits.length = 0;
  callbacks.length = 0;
  for (let number = 0; number < ONE_BY_ONE; number += 1) await oneWholeTask();
  const alone = { submit: summarise(submits), toCallback: summarise(callbacks) };
  const cpuBefore = cpuSecondsAround();
  const tookMs = await timed(() => sideBySide(TOGETHER, SUBMITTERS, async () => void (await oneTask())));
  const cpu = cpuSecondsAround() - cpuBefore;
  return { ...alone, perSecond: (1_000 * TOGETHER) / tookMs, cpuPerTask: (1_000 * cpu) / TOGETHER };
}

async function plain(): Promise<Load> {
  const worker = await start('plain-worker', 'bench/support/plain-worker.ts', []);
  const submit = async () => {
    const id = randomUUID();
    const args = [{ id, url: receiver.url }];
    await client.workflow.start('plainTask', { workflowId: id, taskQueue: PLAIN_QUEUE, args });
    return id;
  };
  try {
    return await load(submit);
  } finally {
    await worker.stop();
  }
}

async function baton(rehearsal: object): Promise<Load & { historyEvents: number }> {
  const api = await start('api', 'src/api/server.ts');
  const worker = await start('task-worker', 'workers/task-worker.ts');
  const dispatcher = new Agent({ connections: SUBMITTERS });
  const headers = { 'x-api-key': installation.api_key, 'content-type': 'application/json' };
  const { project_id } = installation;
  let last = '';
  const submit = async () => {
    const body = JSON.stringify({
      title: 'Bench',
      project_id,
      callback_url: receiver.url,
      metadata: { rehearsal },
    });
    const answer = await request(`http://127.0.0.1:${port}/api/v1/tasks`, {
      method: 'POST',
      headers,
      body,
      dispatcher,
    });
    if (answer.statusCode !== 201) throw new Error(`${answer.statusCode}: ${await answer.body.text()}`);
    last = ((await answer.body.json()) as { execution_id: string }).execution_id;
    return last;
  };
  try {
    const result = await load(submit);
    await client.workflow.getHandle(last).result();
    const { historyLength } = await client.workflow.getHandle(last).describe();
    return { ...result, historyEvents: historyLength };
  } finally {
    await dispatcher.close();
    await api.stop();
    await worker.stop();
  }
}

const say = (sentence: string) => process.stderr.write(`  … ${sentence}\n`);
say('raw INSERT');
const insert = await rawInsert();
say('bare eager workflow');
const bare = await bareEager();
say('plain hand-written workflow');
const byHand = await plain();
say('Baton, instant steps');
const ours = await baton(REHEARSAL);
say('Baton, each step an activity on a task queue');
const queued = await baton({ ...REHEARSAL, step_ms: 250 });

const ms = (value: number) => `${value.toFixed(1)} ms`;
const both = (summary: Summary) => `${summary.p50.toFixed(1)} / ${summary.p95.toFixed(1)} ms`;
console.log(
  table([
    ['', 'submit p50 / p95', 'submit → callback p50 / p95', 'tasks/s, 50 at once', 'CPU per task'],
    ['raw INSERT', both(insert), '', '', ''],
    ['bare eager workflow', both(bare), '', '', ''],
    [
      'plain workflow by hand',
      both(byHand.submit),
      both(byHand.toCallback),
      byHand.perSecond.toFixed(1),
      ms(byHand.cpuPerTask),
    ],
    ['Baton', both(ours.submit), both(ours.toCallback), ours.perSecond.toFixed(1), ms(ours.cpuPerTask)],
    [
      'Baton, steps of 250 ms on a queue',
      both(queued.submit),
      both(queued.toCallback),
      queued.perSecond.toFixed(1),
      ms(queued.cpuPerTask),
    ],
  ]),
);
const ratio = (value: number) => value.toFixed(2);
console.log(`
submit ÷ bare eager start        ${ratio(ours.submit.p50 / bare.p50)} (p50), ${ratio(ours.submit.p95 / bare.p95)} (p95)   wanted ≤ 1.5
submit → callback ÷ plain        ${ratio(ours.toCallback.p50 / byHand.toCallback.p50)} (p50), ${ratio(ours.toCallback.p95 / byHand.toCallback.p95)} (p95)   wanted ≤ 1
tasks per second ÷ plain         ${ratio(ours.perSecond / byHand.perSecond)}   wanted ≥ 1
CPU per task ÷ plain             ${ratio(ours.cpuPerTask / byHand.cpuPerTask)}
history events of a task         ${ours.historyEvents} (${queued.historyEvents} with steps on a queue)`);

receiver.close();
await connection.close();
await fresh.drop();
process.exit(0);
