import { Context } from '@temporalio/activity';
import type { Catalogue } from '../../agents/catalogue.ts';
import { truncate } from '../../domain/common/text.ts';
import { cutValue } from '../../agents/cut.ts';
import { answerOf, textOfResult } from '../../agents/tool-answers.ts';
import { mayRepeat, toolNamed, toolSetOf } from '../../agents/tool-set.ts';
import { ToolServerError, type ToolServers } from '../../agents/tool-servers.ts';
import {
  beginCall,
  findCall,
  isSameCall,
  recordCall,
  type RecordedCall,
} from '../../database/agents/agent-calls.ts';
import type { Database } from '../../database/database.ts';
import type { AgentTraces } from '../../domain/agents/agent-traces.ts';
import { UNKNOWN_EFFECT, type ToolActivities, type ToolAnswer } from '../../domain/agents/agent-work.ts';
import { CALL_RECORD_BYTES } from '../../domain/common/limits.ts';
import { startHeartbeat } from '../heartbeat.ts';
import { retryUntilCancelled } from '../retry-on-outage.ts';
import { waitUntilAllowed } from './wait-until-allowed.ts';

type Dependencies = {
  database: Database;
  catalogue: Pick<Catalogue, 'agents' | 'servers'>;
  servers: ToolServers;
  clock: () => Date;
  traces: AgentTraces;
  /** Called for each entry of an agent's allow-list that cannot be used. */
  onFault(agent: string, fault: string): void;
  /** Called after every call. */
  onCall?: ((call: { failed: boolean }) => void) | undefined;
};
/** An answer for the model. `failure`: why the service answered instead of the tool; null if the tool answered. */
type ToolResult = { answer: ToolAnswer; failure: string | null };
type ToolCallInput = Parameters<ToolActivities['callTool']>[0];

/** The heartbeats of a worker that records that a call begins. Those of earlier versions have no details. */
const RECORDS_BEGIN = 'records-begin';

const INTERRUPTED = 'Interrupted because the run or its worker was stopped.';

/** Creates the activities for the tools of MCP servers. */
export function createToolActivities(deps: Dependencies): ToolActivities {
  const allowListOf = (agent: string) => deps.catalogue.agents.get(agent)?.tools ?? null;
  return {
    async listTools({ agent }) {
      using _heartbeat = startHeartbeat();
      const signal = Context.current().cancellationSignal;
      const { tools, faults } = await toolSetOf(allowListOf(agent), deps.servers, signal);
      for (const fault of faults) deps.onFault(agent, fault);
      return tools;
    },

    async callTool(call) {
      using _heartbeat = startHeartbeat(() => RECORDS_BEGIN);
      const { info, cancellationSignal } = Context.current();
      const earlier = await retryUntilCancelled(
        () => findCall(deps.database, call.place),
        cancellationSignal,
      );
      const asRecorded = recordedCallOf(call);
      // A first attempt may be another call after a reset, and only the beginning of a long input is recorded.
      const isKnown = !asRecorded.truncated || info.attempt > 1;
      const recorded = earlier && isKnown && isSameCall(earlier, asRecorded) ? earlier : null;
      if (recorded?.failure === null) return recorded.output as ToolAnswer;
      await waitUntilAllowed(deps.database, call.place.executionId, cancellationSignal);
      const isUncertain = info.attempt > 1 && info.heartbeatDetails !== RECORDS_BEGIN;
      const isRepeat = recorded !== null || isUncertain;
      return await callAndRecord(deps, call, { earlier, isRepeat }, cancellationSignal);
    },
  };

  async function callAndRecord(
    { database, clock }: Dependencies,
    call: ToolCallInput,
    { earlier, isRepeat }: { earlier: RecordedCall | null; isRepeat: boolean },
    signal: AbortSignal,
  ): Promise<ToolAnswer> {
    const startedAt = clock();
    const began = performance.now();
    const record = (done: ToolResult) =>
      recordToolCall(database, call, done, startedAt, performance.now() - began);
    let isBegun = false;
    // A repeat of the activity must know whether the tool may have been called.
    const begin = async () => {
      signal.throwIfAborted();
      const begun = { place: call.place, kind: 'tool' as const, ...recordedCallOf(call), startedAt };
      isBegun = await retryUntilCancelled(() => beginCall(database, begun, earlier), signal);
      return isBegun;
    };
    try {
      const done = await answerTo(call, isRepeat, begin, signal);
      deps.onCall?.({ failed: done.failure !== null || done.answer.is_error });
      await retryUntilCancelled(() => record(done), signal);
      return done.answer;
    } catch (error) {
      // Readers of the record must see that the tool may have been called.
      if (signal.aborted && isBegun) await record(failed(INTERRUPTED)).catch(() => {});
      throw error;
    }
  }

  async function answerTo(
    call: ToolCallInput,
    isRepeat: boolean,
    begin: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const { servers, catalogue } = deps;
    const { agent, name, input } = call;
    try {
      const found = await toolNamed(name, allowListOf(agent), servers, signal);
      if (found === null) return failed(`You have no tool ${truncate(name, 100)}.`);
      if (!isObject(input)) return failed('The arguments must be an object.');
      const { repeatable = [] } = catalogue.servers.get(found.server) ?? {};
      if (isRepeat && !(await mayRepeat(found, repeatable, servers, signal))) return failed(UNKNOWN_EFFECT);
      if (!(await begin())) return failed(UNKNOWN_EFFECT);
      const { result, isError } = await deps.traces.run(
        { kind: 'execute_tool', agent, ...found },
        async (report) => {
          const returned = await servers.call(found.server, found.tool, input, signal);
          const hasFailed = 'isError' in returned && returned.isError === true;
          if (hasFailed) report({ failure: 'tool_error' });
          return { result: returned, isError: hasFailed };
        },
      );
      const text = servers.withoutSecrets(found.server, textOfResult(result));
      return { answer: answerOf(text, isError), failure: null };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ToolServerError) return failed(`The tool did not respond: ${error.message}`);
      throw error;
    }
  }
}

async function recordToolCall(
  database: Database,
  call: ToolCallInput,
  { answer, failure }: ToolResult,
  startedAt: Date,
  duration_ms: number,
): Promise<void> {
  const { name, input, truncated } = recordedCallOf(call);
  await recordCall(database, {
    place: call.place,
    kind: 'tool',
    name,
    input,
    output: answer,
    truncated: truncated || answer.truncated,
    usage: null,
    failure,
    startedAt,
    duration_ms,
  });
}

/** Returns a call as the record contains it. */
function recordedCallOf({ name, input }: ToolCallInput): {
  name: string;
  input: unknown;
  truncated: boolean;
} {
  const { value, truncated } = cutValue(input, CALL_RECORD_BYTES);
  return { name: truncate(name, 200), input: value, truncated };
}

/** Returns an answer of the service instead of the tool. */
function failed(sentence: string): ToolResult {
  return { answer: answerOf(sentence, true), failure: sentence };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
