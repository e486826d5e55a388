/* An MCP server on standard input and output whose tools misbehave. Started by tests. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

type Request = { id?: number; method: string; params?: Params };
type Params = { name?: string; requestId?: number; _meta?: { traceparent?: string } };

const cancelledCalls: string[] = [];
const calls = new Map<number, string>();
const TOOLS = [
  'pid',
  'crash',
  'hang',
  'freeze',
  'chatter',
  'tell_token',
  'tell_token_late',
  'start_child',
  'taken_back',
  'trace',
];

const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

createInterface({ input: process.stdin })
  .on('line', (line) => handle(JSON.parse(line) as Request))
  .on('close', () => process.exit(0));

function handle({ id, method, params }: Request): void {
  switch (method) {
    case 'initialize':
      return void send({
        id,
        result: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'misbehaving', version: '1' },
        },
      });
    case 'tools/list': {
      const annotations = (name: string) => (name === 'pid' ? { annotations: { readOnlyHint: true } } : {});
      const tools = TOOLS.map((name) => ({ name, inputSchema: { type: 'object' }, ...annotations(name) }));
      return void send({ id, result: { tools } });
    }
    case 'tools/call':
      calls.set(id ?? -1, params?.name ?? '');
      return call(params?.name ?? '', params?._meta?.traceparent, (text) =>
        send({ id, result: { content: [{ type: 'text', text }] } }),
      );
    case 'notifications/cancelled':
      return recordCancelled(calls.get(params?.requestId ?? -1));
    default:
      if (id !== undefined) send({ id, error: { code: -32601, message: 'no such method' } });
  }
}

/** Records a call that was taken back. If this program starts slowly, the client also takes back its question for the protocol. */
function recordCancelled(name: string | undefined): void {
  if (name !== undefined) cancelledCalls.push(name);
}

function call(name: string, traceparent: string | undefined, answer: (text: string) => void): void {
  switch (name) {
    case 'trace':
      return answer(traceparent ?? 'none');
    case 'pid':
      return answer(String(process.pid));
    case 'crash':
      process.exit(3);
      break;
    case 'freeze':
      for (;;);
    case 'chatter':
      console.error('a line on standard error');
      process.stdout.write('this is no message\n{"half":\n');
      return answer('done');
    case 'tell_token':
      console.error(`token ${process.env['SERVICE_TOKEN']}`);
      return answer(`the token is ${process.env['SERVICE_TOKEN']}`);
    case 'tell_token_late': {
      const line = 'x'.repeat(1_990) + process.env['SERVICE_TOKEN'];
      console.error(line);
      process.stdout.write(`${line} on standard output\n`);
      return answer('done');
    }
    case 'start_child': {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      return answer(String(child.pid));
    }
    case 'taken_back':
      return answer(JSON.stringify(cancelledCalls));
    case 'hang':
      return console.error('hanging from now on');
  }
}
