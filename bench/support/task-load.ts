import { request, type Agent } from 'undici';
import type { CallbackReceiver } from './callback-receiver.ts';
import { measured, type Used } from './costs.ts';
import { sideBySide, summarise, timed, type Summary } from './figures.ts';

/** Something that takes a task in and answers its id. */
export type Submit = () => Promise<string>;

/** Times in milliseconds; what the tasks that came together took. */
export type TaskLoad = { submit: Summary; toCallback: Summary; perSecond: number; used: Used };

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

/**
 * Some tasks for practice, `alone` ones one after another, and `together` ones by `submitters`. `ended` waits until a
 * task is over, its workflow closed and all; `database` is looked at for what the last ones leave there.
 */
export async function loadTasks(
  {
    submit,
    ended,
    receiver,
    database,
  }: {
    submit: Submit;
    ended: (id: string) => Promise<unknown>;
    receiver: CallbackReceiver;
    database: string;
  },
  {
    practice,
    alone,
    together,
    submitters,
  }: {
    practice: number;
    alone: number;
    together: number;
    submitters: number;
  },
): Promise<TaskLoad> {
  const submits: number[] = [];
  const callbacks: number[] = [];
  const one = async () => {
    const began = performance.now();
    const id = await submit();
    submits.push(performance.now() - began);
    callbacks.push((await receiver.arrival(id)) - began);
    return id;
  };
  for (let number = 0; number < practice; number += 1) await ended(await one());
  submits.length = 0;
  callbacks.length = 0;
  for (let number = 0; number < alone; number += 1) await ended(await one());
  const times = { submit: summarise(submits), toCallback: summarise(callbacks) };
  let tookMs = Number.NaN;
  const used = await measured(database, async () => {
    const ids: string[] = [];
    tookMs = await timed(() => sideBySide(together, submitters, async () => void ids.push(await one())));
    await Promise.all(ids.slice(-submitters).map(ended));
  });
  return { ...times, perSecond: (1_000 * together) / tookMs, used };
}
