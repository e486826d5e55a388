import { request, type Agent } from 'undici';
import type { CallbackReceiver } from './callback-receiver.ts';
import { measureCosts, type Costs } from './costs.ts';
import { runConcurrently, summarize, measureMs, type Summary } from './measure.ts';

/** Submits a task and returns its id. */
export type Submit = () => Promise<string>;

/** A kind of task. `receiver` gets its callbacks, `waitForEnd` resolves when its workflow is closed. */
export type TaskKind = {
  submit: Submit;
  waitForEnd: (id: string) => Promise<unknown>;
  receiver?: CallbackReceiver;
};

/** Milliseconds. Without a callback, `toCallback` is null. */
export type TaskTimes = { submit: Summary; toCallback: Summary | null };
/** The rate and the costs of concurrent tasks. */
export type TaskLoad = { perSecond: number; costs: Costs };

/** Returns a function that submits tasks to the API at `url`. It throws on any response except 201. */
export function createSubmit(
  { url, key, projectId, callbackUrl }: { url: string; key: string; projectId: string; callbackUrl: string },
  rehearsal: object,
  dispatcher: Agent,
): Submit {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const task = { title: 'Bench', project_id: projectId, callback_url: callbackUrl, metadata: { rehearsal } };
  const body = JSON.stringify(task);
  return async () => {
    const answer = await request(`${url}/api/v1/tasks`, { method: 'POST', headers, body, dispatcher });
    if (answer.statusCode !== 201) throw new Error(`${answer.statusCode}: ${await answer.body.text()}`);
    return ((await answer.body.json()) as { execution_id: string }).execution_id;
  };
}

/** Submits one task and waits for its callback. Returns its id and the times. */
async function submitOne({ submit, receiver }: TaskKind) {
  const began = performance.now();
  const id = await submit();
  const submitMs = performance.now() - began;
  const toCallbackMs = receiver ? (await receiver.waitForCallback(id)) - began : null;
  return { id, submitMs, toCallbackMs };
}

/**
 * Measures tasks one after another, each kind in turn: compared kinds are measured at the same time and at the same pace,
 * since an idle processor wakes up slowly. The first `practice` rounds do not count.
 */
export async function measureInTurns(
  kinds: readonly TaskKind[],
  { practice, times }: { practice: number; times: number },
): Promise<TaskTimes[]> {
  const samples = kinds.map(() => ({ submit: [] as number[], toCallback: [] as number[] }));
  for (let round = 0; round < practice + times; round += 1) {
    for (const [place, kind] of kinds.entries()) {
      const { id, submitMs, toCallbackMs } = await submitOne(kind);
      await kind.waitForEnd(id);
      if (round < practice) continue;
      samples[place]?.submit.push(submitMs);
      if (toCallbackMs !== null) samples[place]?.toCallback.push(toCallbackMs);
    }
  }
  return samples.map(({ submit, toCallback }) => ({
    submit: summarize(submit),
    toCallback: toCallback.length > 0 ? summarize(toCallback) : null,
  }));
}

/** Measures `times` tasks of one kind by concurrent submitters. `database`: where their storage is measured. */
export async function measureConcurrently(
  kind: TaskKind,
  { times, submitters, database }: { times: number; submitters: number; database: string },
): Promise<TaskLoad> {
  const { result, costs } = await measureCosts(database, async () => {
    const ids: string[] = [];
    const one = async () => void ids.push((await submitOne(kind)).id);
    const durationMs = await measureMs(() => runConcurrently(times, submitters, one));
    await Promise.all(ids.slice(-submitters).map(kind.waitForEnd));
    return (1_000 * times) / durationMs;
  });
  return { perSecond: result, costs };
}
