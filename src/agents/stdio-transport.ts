import type { JSONRPCMessage, MCPTransport } from '@ai-sdk/mcp';
import type { Isolation } from './isolation.ts';
import { startProgram, type Program, type ProgramEnd, type RunningProgram } from './own-process.ts';
import { withTrace, type CurrentTrace } from './request-trace.ts';

export type StdioTransport = MCPTransport & {
  /** The error of the program, if it did more than exit. */
  fault(): string | null;
  /** How the program ended, as text; null while it runs. */
  endReason(): string | null;
};

/**
 * Creates an MCP transport over standard input and output of a program: one JSON message per line. The library's own
 * transport ends only the program itself, not its children, and passes on more of the environment. Lines for
 * `onDiagnostic` may be long and contain secrets.
 */
export function createStdioTransport(
  program: Program,
  {
    env,
    isolation,
    traceparent,
  }: { env: Record<string, string>; isolation: Isolation; traceparent: CurrentTrace },
  onDiagnostic: (line: string) => void,
): StdioTransport {
  let running: RunningProgram | null = null;
  let end: ProgramEnd | null = null;
  /** Clean-up for each open request, called when its answer arrives. */
  const answered = new Map<string | number, () => void>();

  const onLine = (line: string): void => {
    const message = messageIn(line);
    // Some programs write other output there too.
    if (message === null) return onDiagnostic(line);
    if ('id' in message && !('method' in message)) answered.get(message.id ?? '')?.();
    try {
      transport.onmessage?.(message);
    } catch (error) {
      // For example the answer to a cancelled request.
      onDiagnostic(`an unexpected message: ${(error as Error).message}`);
    }
  };

  /** Notifies the server of a cancelled request, so that it can stop working on it. */
  const cancelOnAbort = (message: JSONRPCMessage, signal: AbortSignal): void => {
    if (!('method' in message) || !('id' in message) || message.method === 'initialize') return;
    const { id } = message;
    const cancel = () => {
      answered.delete(id);
      const params = { requestId: id, reason: 'given up' };
      running?.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
    };
    signal.addEventListener('abort', cancel, { once: true });
    answered.set(id, () => {
      answered.delete(id);
      signal.removeEventListener('abort', cancel);
    });
  };

  const transport: StdioTransport = {
    supportsProtocolVersionDiscovery: true,
    async start() {
      running = startProgram(program, env, { onLine, onDiagnostic }, isolation);
      void running.ended.then((how) => {
        end = how;
        answered.clear();
        transport.onclose?.();
      });
    },
    async send(message, options) {
      if (running === null || end !== null) throw new Error('the server has ended');
      if (options?.signal) cancelOnAbort(message, options.signal);
      running.send(JSON.stringify(withTrace(message, traceparent())));
    },
    async close() {
      await running?.end();
    },
    fault: () => end?.fault ?? (end?.code ? `exit code ${end.code}` : null),
    endReason() {
      if (end === null) return null;
      return `the server ended (${end.fault ?? end.signal ?? `exit code ${end.code}`})`;
    },
  };
  return transport;
}

function messageIn(line: string): JSONRPCMessage | null {
  try {
    const message = JSON.parse(line);
    return message !== null && typeof message === 'object' && message.jsonrpc === '2.0' ? message : null;
  } catch {
    return null;
  }
}
