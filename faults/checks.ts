import { MAY_WAIT, none, some, type Books, type Line } from './books.ts';
import { deliveryLines } from './checks-deliveries.ts';
import { taskLines } from './checks-tasks.ts';

/** Every invariant with what was counted. */
export function checkStory(books: Books): Line[] {
  return [...taskLines(books), ...deliveryLines(books), ...engineLines(books), ...storyLines(books)];
}

function engineLines({ workflows, runs, deliveries }: Books): Line[] {
  const failedRuns = new Set(runs.filter(({ state }) => state === 'failed').map(({ id }) => id));
  const settled = new Set(
    deliveries.filter(({ status }) => status === 'succeeded' || status === 'skipped').map(({ id }) => id),
  );
  const isIdle = ({ id, type }: Books['workflows'][number]) =>
    type === 'webhookAttempt' || settled.has(id.split(':')[1] ?? '');
  const open = workflows.filter(({ status }) => status === 'RUNNING' || status === 'PAUSED');
  const inShort = ({ id, type, status }: Books['workflows'][number]) => `${type} ${id} ${status}`;
  const isBad = ({ id, status }: Books['workflows'][number]) =>
    (status === 'FAILED' && !failedRuns.has(id)) || status === 'TERMINATED' || status === 'TIMED_OUT';
  return [
    none(
      'Temporal: workflows left running',
      open.filter((one) => !(MAY_WAIT.has(one.type) && isIdle(one))).map(inShort),
    ),
    none('Temporal: workflows that failed', workflows.filter(isBad).map(inShort)),
  ];
}

function storyLines({ made, unbidden }: Books): Line[] {
  const failed = made.filter(({ failure }) => failure !== null);
  return [
    some('story: disturbances made', made.length - failed.length),
    none(
      'story: disturbances that could not be made',
      failed.map(({ planned, failure }) => `${planned.kind}: ${failure}`),
    ),
    none('story: processes that ended by themselves', unbidden),
  ];
}
