import { expectNone, expectSome, type InvariantResult } from './invariants.ts';
import { WAITING_WORKFLOWS, type ScenarioRecords } from './records.ts';
import { checkDeliveries } from './checks-deliveries.ts';
import { checkTasks } from './checks-tasks.ts';

/** Checks all invariants. Returns a result for each. */
export function checkInvariants(records: ScenarioRecords): InvariantResult[] {
  return [
    ...checkTasks(records),
    ...checkDeliveries(records),
    ...checkTemporal(records),
    ...checkScenario(records),
  ];
}

function checkTemporal({ workflows, runs, deliveries }: ScenarioRecords): InvariantResult[] {
  const failedRuns = new Set(runs.filter(({ state }) => state === 'failed').map(({ id }) => id));
  const settled = new Set(
    deliveries.filter(({ status }) => status === 'succeeded' || status === 'skipped').map(({ id }) => id),
  );
  const isIdle = ({ id, type }: ScenarioRecords['workflows'][number]) =>
    type === 'webhookAttempt' || settled.has(id.split(':')[1] ?? '');
  const open = workflows.filter(({ status }) => status === 'RUNNING' || status === 'PAUSED');
  const summarize = ({ id, type, status }: ScenarioRecords['workflows'][number]) => `${type} ${id} ${status}`;
  const isBad = ({ id, status }: ScenarioRecords['workflows'][number]) =>
    (status === 'FAILED' && !failedRuns.has(id)) || status === 'TERMINATED' || status === 'TIMED_OUT';
  return [
    expectNone(
      'Temporal: workflows left running',
      open.filter((one) => !(WAITING_WORKFLOWS.has(one.type) && isIdle(one))).map(summarize),
    ),
    expectNone('Temporal: workflows that failed', workflows.filter(isBad).map(summarize)),
  ];
}

function checkScenario({ faults, unexpectedExits }: ScenarioRecords): InvariantResult[] {
  const failed = faults.filter(({ failure }) => failure !== null);
  return [
    expectSome('scenario: faults injected', faults.length - failed.length),
    expectNone(
      'scenario: faults that could not be injected',
      failed.map(({ fault, failure }) => `${fault.kind}: ${failure}`),
    ),
    expectNone('scenario: processes that exited unexpectedly', unexpectedExits),
  ];
}
