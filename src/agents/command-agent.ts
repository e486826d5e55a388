import { z } from 'zod';
import {
  isOverTokens,
  overTokens,
  reportedUsage,
  type AgentListener,
  type AgentEnd,
  type ReportedUsage,
} from './agent-end.ts';
import type { Isolation } from './isolation.ts';
import { startProgram, type ProgramEnd } from './own-process.ts';
import type { CommandAgent } from './server-settings.ts';
import { truncate } from '../domain/common/text.ts';

/** Messages of a program, one JSON object per line. The first `result`, `error` or `escalate` ends its work. */
const lineSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('progress'),
    percent: z.number().min(0).max(100).nullish(),
    text: z.string().nullish(),
  }),
  z.object({ type: z.literal('message'), text: z.string() }),
  z.object({ type: z.literal('usage'), input_tokens: z.int(), output_tokens: z.int() }),
  z.object({ type: z.literal('result'), text: z.string(), usage: z.unknown().optional() }),
  z.object({ type: z.literal('error'), message: z.string().min(1), recoverable: z.boolean().default(true) }),
  z.object({ type: z.literal('escalate'), reason: z.string().min(1) }),
]);
type Line = z.infer<typeof lineSchema>;

type Work = {
  env: Record<string, string>;
  isolation: Isolation;
  /** The request that the program gets as one line. */
  request: object;
  /** Token limit; null: none. */
  tokens: number | null;
  listener: AgentListener & { diagnostic(line: string): void };
  /** Returns a text without the secrets of the program. Called before the text is cut. */
  hide(text: string): string;
};

/**
 * Runs a step by a program. The program and its children are ended when it is done, when it writes an invalid line, and
 * when `signal` aborts the work.
 * @throws the signal's reason
 */
export async function workByCommand(
  { command, args, cwd }: CommandAgent,
  { env, isolation, request, tokens, listener, hide }: Work,
  signal: AbortSignal,
): Promise<AgentEnd> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<AgentEnd>();
  let usage: ReportedUsage | null = null;
  const handlers = {
    onDiagnostic: listener.diagnostic,
    onLine(text: string) {
      if (text.trim() === '') return;
      const line = lineIn(text);
      if (line === null) return resolve({ kind: 'failed', message: describeInvalidLine(hide(text)), usage });
      if (line.type === 'usage') usage = reportedUsage(line) ?? usage;
      if (line.type === 'result') usage = reportedUsage(line.usage) ?? usage;
      if (isOverTokens(usage, tokens)) return resolve(overTokens(tokens, usage));
      const end = endOf(line, usage, listener);
      if (end !== null) resolve(end);
    },
  };
  const program = startProgram({ command, args, cwd }, env, handlers, isolation);
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  // Its last output may arrive after its exit; `ended` resolves after that.
  void program.ended.then((end) => resolve({ kind: 'failed', message: describeEarlyEnd(end), usage }));
  try {
    program.send(JSON.stringify(request));
    return await promise;
  } finally {
    signal.removeEventListener('abort', stop);
    await program.end();
  }
}

/** Returns the end of the work if the line ends it, else null. Reports all other lines. */
function endOf(line: Line, usage: ReportedUsage | null, listener: AgentListener): AgentEnd | null {
  switch (line.type) {
    case 'progress':
      listener.progress(line.percent == null ? null : Math.floor(line.percent), line.text ?? null);
      return null;
    case 'message':
      listener.message(line.text);
      return null;
    case 'usage':
      return null;
    case 'result':
      return { kind: 'completed', text: line.text, usage };
    case 'error':
      return { kind: line.recoverable ? 'failed' : 'unrecoverable', message: line.message, usage };
    case 'escalate':
      return { kind: 'escalated', reason: line.reason, usage };
  }
}

function lineIn(text: string): Line | null {
  try {
    return lineSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function describeInvalidLine(text: string): string {
  return `the command wrote a line that is not part of the protocol: ${truncate(text, 100)}`;
}

function describeEarlyEnd({ code, signal, fault }: ProgramEnd): string {
  return `the command ended without a result (${fault ?? signal ?? `exit code ${code}`})`;
}
