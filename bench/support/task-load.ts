import { request, type Agent } from 'undici';
import type { CallbackReceiver } from './callback-receiver.ts';
import { measured, type Used } from './costs.ts';
import { sideBySide, summarise, timed, type Summary } from './figures.ts';

/** Something that takes a task in and answers its id. */
export type Submit = () => Promise<string>;

/** One kind of task; `receiver` gets its callbacks, and `ended` waits until a task is over, its workflow closed and all. */
export type TaskKind = {
  submit: Submit;
  ended: (id: string) => Promise<unknown>;
  receiver?: CallbackReceiver;
};

/** Milliseconds; no callback, no time of one. */
export type TaskTimes = { submit: Summary; toCallback: Summary | null };
/** What tasks that came together took. */
export type TaskLoad = { perSecond: number; used: Used };

/** Submits tasks over HTTP to the API at `url`. @throws on any answer but 201 */
export function submitter(
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

/** Submits one task and waits for its callback; answers its id and the times until then. */
async function takeOne({ submit, receiver }: TaskKind) {
  const began = performance.now();
  const id = await submit();
  const submitMs = performance.now() - began;
  const toCallbackMs = receiver ? (await receiver.arrival(id)) - began : null;
  return { id, submitMs, toCallbackMs };
}

/**
 * Tasks one after another, one of each kind in turn: what is compared is measured in the same moment and at the same
 * pace, since a processor that rests wakes up slowly. The first `practice` rounds do not count.
 */
export async function inTurns(
  kinds: readonly TaskKind[],
  { practice, times }: { practice: number; times: number },
): Promise<TaskTimes[]> {
  const samples = kinds.map(() => ({ submit: [] as number[], toCallback: [] as number[] }));
  for (let round = 0; round < practice + times; round += 1) {
    for (const [place, kind] of kinds.entries()) {
      const { id, submitMs, toCallbackMs } = await takeOne(kind);
      await kind.ended(id);
      if (round < practice) continue;
      samples[place]?.submit.push(submitMs);
      if (toCallbackMs !== null) samples[place]?.toCallback.push(toCallbackMs);
    }
  }
  return samples.map(({ submit, toCallback }) => ({
    submit: summarise(submit),
    toCallback: toCallback.length > 0 ? summarise(toCallback) : null,
  }));
}

/** So many tasks of one kind by `submitters` side by side; `database` is looked at for what they leave there. */
export async function sideBySideLoad(
  kind: TaskKind,
  { times, submitters, database }: { times: number; submitters: number; database: string },
): Promise<TaskLoad> {
  let tookMs = Number.NaN;
  const used = await measured(database, async () => {
    const ids: string[] = [];
    const one = async () => void ids.push((await takeOne(kind)).id);
    tookMs = await timed(() => sideBySide(times, submitters, one));
    await Promise.all(ids.slice(-submitters).map(kind.ended));
  });
  return { perSecond: (1_000 * times) / tookMs, used };
}
