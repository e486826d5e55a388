import { ActivityFailure, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { ToolModelMessage, ToolResultPart } from 'ai';
import {
  UNKNOWN_EFFECT,
  type CallKey,
  type ToolActivities,
  type ToolAnswer,
} from '../../domain/agents/agent-work.ts';
import { truncate } from '../../domain/common/text.ts';
import { MAX_CALLS_PER_TURN, MAX_REASON_LENGTH } from '../../domain/common/limits.ts';
import type { ToolCall } from './ask-model.ts';
import { recordOwnCall } from './record-own-call.ts';
import { ownTools } from './own-tools.ts';
import type { WorkTimer } from './work-timer.ts';
import type { StepAttempt } from './step-attempt.ts';

/** The answers of the tools, or the reason why the agent handed the run to a person. */
export type Answers = { message: ToolModelMessage } | { escalated: string };

type KeyedCall = { call: ToolCall; key: CallKey };

/**
 * Makes the calls of one turn concurrently. A tool that fails is an answer to the agent like any other. Calls that ask
 * a person come first, one at a time: the other calls may be what the person decides about.
 */
export async function answerCalls(
  attempt: StepAttempt,
  calls: readonly ToolCall[],
  timer: WorkTimer,
): Promise<Answers> {
  const keyed = calls.map((call) => ({ call, key: attempt.nextCallKey() }));
  const escalated = await escalationAmong(attempt, keyed);
  if (escalated !== null) return { escalated };
  const answers = new Map<ToolCall, ToolAnswer>();
  const answer = async ({ call, key }: KeyedCall) => {
    answers.set(call, await answerTo(attempt, call, key));
  };
  const allowed = keyed.slice(0, MAX_CALLS_PER_TURN);
  for (const one of allowed.filter(asksPeople)) await answer(one);
  await timer.unpaused();
  await Promise.all(allowed.filter((one) => !asksPeople(one)).map(answer));
  return {
    message: { role: 'tool', content: calls.map((call) => resultOf(call, answers.get(call) ?? TOO_MANY)) },
  };
}

const TOO_MANY = fault(`at most ${MAX_CALLS_PER_TURN} tools can be called at once`);

function asksPeople({ call }: KeyedCall): boolean {
  return call.name === 'ask_for_approval';
}

function resultOf({ id, name }: ToolCall, { text, is_error }: ToolAnswer): ToolResultPart {
  const output = { type: is_error ? ('error-text' as const) : ('text' as const), value: text };
  return { type: 'tool-result', toolCallId: id, toolName: name, output };
}

/**
 * Returns the reason of the first call that hands the run to a person, or null. If there is one, no other call is made.
 */
async function escalationAmong(attempt: StepAttempt, keyed: readonly KeyedCall[]): Promise<string | null> {
  for (const { call, key } of keyed) {
    const reason = reasonToEscalate(attempt, call);
    if (reason === null) continue;
    await recordOwnCall(attempt, call, key, { text: 'a person takes over', is_error: false });
    return reason;
  }
  return null;
}

async function answerTo(attempt: StepAttempt, call: ToolCall, key: CallKey): Promise<ToolAnswer> {
  const described = attempt.opened.tools.find(({ name }) => name === call.name);
  if (call.fault !== null || !described) {
    const answer = fault(call.fault ?? `you have no tool ${truncate(call.name, 100)}`);
    await recordOwnCall(attempt, call, key, answer);
    return answer;
  }
  if (described.server === null) {
    const own = Object.hasOwn(ownTools, call.name) ? ownTools[call.name] : undefined;
    if (own) return await own(attempt, call.input, key);
    const answer = fault(`${call.name} is not available`);
    await recordOwnCall(attempt, call, key, answer);
    return answer;
  }
  return await callTool(attempt, call, key);
}

async function callTool(attempt: StepAttempt, call: ToolCall, key: CallKey): Promise<ToolAnswer> {
  const { step } = attempt.work;
  const tools = proxyActivities<ToolActivities>({
    summary: `${step.name} · ${step.agent} · ${call.name}`,
    heartbeatTimeout: '5 s',
    // The activity limits the call itself, by the tool's time limit in the catalogue. Before and after the call it waits
    // for the end of a pause or of a database outage.
    startToCloseTimeout: '365 d',
    retry: { initialInterval: '500 ms', maximumInterval: '10 s', maximumAttempts: 5 },
  });
  try {
    return await tools.callTool({ agent: step.agent, place: key, name: call.name, input: call.input });
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return fault(UNKNOWN_EFFECT);
  }
}

/**
 * Returns the reason of a well-formed call of `escalate_to_human`, or null if it is another call or the agent may not
 * make it.
 */
function reasonToEscalate(attempt: StepAttempt, { name, input, fault: wrong }: ToolCall): string | null {
  if (name !== 'escalate_to_human' || wrong !== null) return null;
  if (!attempt.opened.tools.some((one) => one.name === name && one.server === null)) return null;
  const reason = (input as { reason?: unknown } | null)?.reason;
  return typeof reason === 'string' && reason.trim() !== '' ? truncate(reason, MAX_REASON_LENGTH) : null;
}

function fault(text: string): ToolAnswer {
  return { text, is_error: true, truncated: false };
}
