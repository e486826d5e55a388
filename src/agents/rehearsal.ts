import { setTimeout as wait } from 'node:timers/promises';
import type { StepOutcome, StepWork } from '../domain/tasks/step-work.ts';

/** One progress report of a step: the `number`-th, counted from 1. */
export type ProgressReport = { number: number; percent: number; at: Date };

type RehearsalContext = { report(report: ProgressReport): void; signal: AbortSignal };

/** Interval of progress reports, in milliseconds. Reports within one interval are made together. */
const REPORT_EVERY_MS = 50;

/**
 * Simulates one attempt of a step by its script: takes `step_ms`, reports progress `progress_events` times, then
 * completes, fails, becomes unrecoverable or escalates, unless a person has answered the escalation. Depends only on the
 * step and its attempt, so that a repeat has the same result.
 * @throws AbortError if the signal aborts it
 */
export async function rehearseStep(work: StepWork, context: RehearsalContext): Promise<StepOutcome> {
  const script = work.rehearsal ?? {};
  await simulateTime(script.step_ms ?? 0, script.progress_events ?? 0, context);
  if (script.unrecoverable?.step === work.number) {
    return { kind: 'unrecoverable', message: `step ${work.number} is scripted to be unrecoverable` };
  }
  const answered = work.step.answers?.at(-1);
  if (script.escalate?.step === work.number && !answered)
    return { kind: 'escalated', reason: script.escalate.reason };
  if (script.fail?.step === work.number && work.attempt <= script.fail.times) {
    const message = `step ${work.number} is scripted to fail ${script.fail.times} times; this is attempt ${work.attempt}`;
    return { kind: 'failed', message };
  }
  const { name, agent } = work.step;
  return {
    kind: 'completed',
    result: {
      summary: `Simulated ${name} without a model.`,
      usage: { input_tokens: 0, output_tokens: 0 },
      message: `Simulation of ${name} by ${agent}.${answerText(work.answer)}${answered ? ` ${answered.by} answered: ${answered.text}` : ''}`,
    },
  };
}

function answerText(answer: StepWork['answer']): string {
  if (!answer) return '';
  const by = answer.by.replace(/^user:/, '');
  return ` ${by} ${answer.reason === null ? 'continued the run' : `answered: ${answer.reason}`}`;
}

async function simulateTime(stepMs: number, reports: number, context: RehearsalContext): Promise<void> {
  let reported = 0;
  let passed = 0;
  while (passed < stepMs) {
    const pause = Math.min(reports > 0 ? REPORT_EVERY_MS : stepMs, stepMs - passed);
    await wait(pause, undefined, { signal: context.signal });
    passed += pause;
    const due = Math.floor((reports * passed) / stepMs);
    reportUpTo(due);
  }
  reportUpTo(reports);

  function reportUpTo(due: number): void {
    const at = new Date();
    for (; reported < due; reported += 1) {
      const number = reported + 1;
      context.report({ number, percent: Math.floor((100 * number) / reports), at });
    }
  }
}
