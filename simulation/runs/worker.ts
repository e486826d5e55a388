import { createCallbackAttempt } from '../../src/activities/callback-attempt.ts';
import { createImmediateCallbacks } from '../../src/activities/immediate-callbacks.ts';
import { createRehearsalActivities } from '../../src/activities/rehearse.ts';
import { createRunRecords } from '../../src/activities/run-records.ts';
import { createCallbackActivities } from '../../src/activities/send-callback.ts';
import { loadCatalogue } from '../../src/agents/catalogue.ts';
import type { Database } from '../../src/database/database.ts';
import type { StepWork } from '../../src/domain/tasks/step-work.ts';
import { UNTRACED } from '../../src/outbound/traces.ts';
import type { Worker } from '../engine/tasks.ts';
import { createProcess, type Clock } from '../world/clock.ts';
import type { Receivers } from '../world/receivers.ts';

type Dependencies = {
  clock: Clock;
  database: Database;
  receivers: Receivers;
  newId: (what: string) => string;
  /** Called when an activity begins to work on a step. */
  onStep: (work: StepWork) => void;
};

const CATALOGUE = loadCatalogue(new URL('../../agents.yml', import.meta.url).pathname);

/** Starts a task worker with the activities of production. */
export function startRunWorker(name: string, deps: Dependencies): Worker {
  const { clock, database, receivers, newId, onStep } = deps;
  const process = createProcess(name);
  return clock.within(process, () => {
    const attempt = createCallbackAttempt({
      database,
      sender: receivers.sender,
      openSecret: (sealed) => sealed,
      newId: () => newId('attempt'),
      clock: () => new Date(),
      traces: UNTRACED,
    });
    const { attemptNow: callBack, close } = createImmediateCallbacks({ database, attempt });
    const activities = {
      ...createRunRecords({ database, catalogue: CATALOGUE, callBack }),
      ...createCallbackActivities({ database, attempt }),
      ...createRehearsalActivities({ database }),
    };
    const onBegin: Worker['onBegin'] = (activity, [work]) => {
      if (activity === 'rehearse') onStep(work as StepWork);
    };
    return { process, activities, onBegin, close };
  });
}
