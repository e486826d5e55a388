import type { CallKey, ToolAnswer } from '../../domain/agents/agent-work.ts';
import { truncate } from '../../domain/common/text.ts';
import { MAX_QUESTION_LENGTH } from '../../domain/common/limits.ts';
import { recordOwnCall } from './record-own-call.ts';
import { saveArtifactTool } from './save-artifact.ts';
import type { StepAttempt } from './step-attempt.ts';

/** Handles the call of a built-in tool and records it. */
type OwnTool = (attempt: StepAttempt, input: unknown, key: CallKey) => Promise<ToolAnswer>;

/**
 * Handlers by name of the tool. Valid calls of `escalate_to_human` end the step before any handler is called, so this
 * handler only sees invalid ones.
 */
export const ownTools: Readonly<Record<string, OwnTool>> = {
  async report_progress(attempt, input, key) {
    const { text, percent } = (input ?? {}) as { text?: unknown; percent?: unknown };
    const isValid = typeof text === 'string' && (percent === undefined || isPercent(percent));
    const answer = isValid
      ? { text: 'recorded', is_error: false, truncated: false }
      : { text: 'text is required, and percent must be from 0 to 100', is_error: true, truncated: false };
    const progress = isValid ? { percent: isPercent(percent) ? Math.floor(percent) : null, text } : null;
    await recordOwnCall(attempt, { name: 'report_progress', input }, key, answer, progress);
    return answer;
  },
  async ask_for_approval(attempt, input, key) {
    const { question } = (input ?? {}) as { question?: unknown };
    if (typeof question !== 'string' || question.trim() === '') {
      const answer = { text: 'question is required', is_error: true, truncated: false };
      await recordOwnCall(attempt, { name: 'ask_for_approval', input }, key, answer);
      return answer;
    }
    const text = truncate(question, MAX_QUESTION_LENGTH);
    const { reason } = await attempt.approvals.ask(key.stepId, key.attempt, key.number, text);
    const comment = reason === null ? 'without a comment' : `and said: ${reason}`;
    const answer = { text: `A person continued the run ${comment}`, is_error: false, truncated: false };
    await recordOwnCall(attempt, { name: 'ask_for_approval', input }, key, answer);
    return answer;
  },
  save_artifact: saveArtifactTool,
  async escalate_to_human(attempt, input, key) {
    const answer = { text: 'reason is required', is_error: true, truncated: false };
    await recordOwnCall(attempt, { name: 'escalate_to_human', input }, key, answer);
    return answer;
  },
};

function isPercent(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 100;
}
