import { setHandler } from '@temporalio/workflow';
import type { ContinueRequest, ControlRequest } from '../domain/tasks/run-state.ts';
import {
  approvalAskedSignal,
  cancelSignal,
  continueSignal,
  detailQuery,
  enginePausedSignal,
  pauseSignal,
  stateQuery,
} from '../temporal/task-messages.ts';
import type { Run } from './run.ts';

/** Handles the signals and queries of a run. A signal that does not apply to the run's state changes nothing. */
export function handleMessages(run: Run): void {
  handleControl(run);
  handleQueries(run);
  handleQuestions(run);
}

function handleControl(run: Run): void {
  const { state, recorder, questions, signals } = run;
  setHandler(
    pauseSignal,
    (request) =>
      signals.handle(async () => {
        state.pause(controlRequestOf(request), Date.now());
        await recorder.flush();
      }),
    { description: 'Pause the run: no new step starts, running steps finish and their results are kept' },
  );
  setHandler(
    continueSignal,
    (request) =>
      signals.handle(async () => {
        const answer = questions.continue(continueRequestOf(request));
        await recorder.flush();
        await answer();
      }),
    { description: 'Continue a paused run in the state it was paused from' },
  );
  setHandler(
    cancelSignal,
    (request) =>
      signals.handle(() => {
        run.cancel ??= controlRequestOf(request);
        run.work.cancel();
      }),
    { description: 'Stop the run: it ends as cancelled, without a callback' },
  );
  setHandler(
    enginePausedSignal,
    (pause) =>
      signals.handle(async () => {
        // Only the service sends this signal. One without its input, sent manually, is ignored.
        if (typeof pause?.pausedAt !== 'string' || Number.isNaN(Date.parse(pause.pausedAt))) return;
        state.enginePauseEnded(pause.pausedAt, controlRequestOf(pause).by, Date.now());
        recorder.recordEnginePauseEnd();
        await recorder.flush();
      }),
    { description: 'Sent by the service after it detected a pause made in the Temporal Web UI' },
  );
}

function handleQueries({ recorder }: Run): void {
  setHandler(stateQuery, () => recorder.shown.state, { description: 'The state of the run, one word' });
  setHandler(detailQuery, () => recorder.shown, {
    description: 'State, progress, steps, times, errors and output, as the API shows them',
  });
}

/** Receives the questions of agents from the workflows of their steps, and signals the answers to them. */
function handleQuestions(run: Run): void {
  const { input, recorder, questions, signals } = run;
  setHandler(
    approvalAskedSignal,
    (asked) =>
      signals.handle(async () => {
        const { stepId, attempt, call, text } = asked ?? {};
        // If something else sends the signal, the input may be missing or name an unknown step.
        if (typeof text !== 'string' || !recorder.shown.steps.some(({ id }) => id === stepId)) return;
        const agent = { workflowId: `${input.executionId}:${stepId}:${attempt}`, call };
        questions.askForAgent(stepId, text, agent);
        const continueEarly = questions.continueEarly();
        await recorder.flush();
        await continueEarly();
      }),
    { description: 'Sent by the workflow of a step whose agent asks a person' },
  );
}

function continueRequestOf(given: unknown): ContinueRequest {
  const { question } = (typeof given === 'object' && given !== null ? given : {}) as { question?: unknown };
  const isNamed = typeof question === 'string' || question === null;
  return { ...controlRequestOf(given), ...(isNamed ? { question } : {}) };
}

/** Returns the request of a signal. The Web UI and Temporal's command line may send one without input, or with any. */
function controlRequestOf(given: unknown): ControlRequest {
  const { by, reason } = (typeof given === 'object' && given !== null ? given : {}) as Record<
    string,
    unknown
  >;
  return {
    by: typeof by === 'string' ? by : 'temporal',
    ...(typeof reason === 'string' ? { reason } : {}),
  };
}
