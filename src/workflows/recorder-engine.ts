import {
  CancellationScope,
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunRecords } from '../activities/run-records.ts';
import type { RecorderEngine } from './recorder.ts';

const { recordRun } = proxyLocalActivities<RunRecords>({
  startToCloseTimeout: '10 s',
  // The database may be down for long. The run waits for it, since it never acts on unrecorded changes.
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/** What the recorder needs of Temporal, in the workflow of a run. */
export const recorderEngine: RecorderEngine = {
  recordRun,
  uncancelled: (work) => CancellationScope.nonCancellable(work),
  history() {
    const { historyLength, historySize, continueAsNewSuggested } = workflowInfo();
    return { events: historyLength, bytes: historySize, isLong: continueAsNewSuggested };
  },
  writer() {
    const {
      runId,
      continuedFromExecutionRunId: continuedFrom = null,
      historyLength: events,
    } = workflowInfo();
    return { runId, continuedFrom, events };
  },
  upsertSearchAttributes,
  setDetails: setCurrentDetails,
};
