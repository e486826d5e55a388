import assert from 'node:assert/strict';
import { autoUpgrade } from '../../src/workflows/auto-upgrade.ts';
import * as workflows from '../../src/workflows/index.ts';

/** Workflows that may be open for days. The others end soon, or are runs, which stay with the version that started them. */
const LASTING = [
  'callbackRetry',
  'endpointBacklog',
  'manualRetries',
  'notifyAdmins',
  'pushNotifications',
  'taskCallback',
  'webhookDelivery',
];
const STAYING = ['dispatchEvents', 'maintenance', 'taskRun', 'webhookAttempt'];

describe('a new version of the workers', () => {
  const optionsOf = (workflow: object) => Reflect.get(workflow, 'workflowDefinitionOptions') as unknown;

  it('continues the open workflows that may last for days, and no others', () => {
    const all = Object.entries(workflows);
    const continued = all.filter(([, workflow]) => optionsOf(workflow) === autoUpgrade).map(([name]) => name);
    assert.deepEqual(continued.toSorted(), LASTING);
    const others = all.filter(([, workflow]) => optionsOf(workflow) === undefined).map(([name]) => name);
    assert.deepEqual(others.toSorted(), STAYING);
  });
});
