/* An agent that is a program, and does what the title of its task says. Run by tests. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

type Request = {
  task: { title: string; metadata: Record<string, unknown> };
  step: { name: string; attempt: number };
  earlier: { step: string; text: string }[];
  repeated: boolean;
};

const say = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
const complain = (line: string) => process.stderr.write(`${line}\n`);

createInterface({ input: process.stdin })
  .on('line', (line) => work(JSON.parse(line) as Request))
  .on('close', () => {
    complain('input closed');
    process.exit();
  });

function work(request: Request): void {
  const { task, step, earlier } = request;
  switch (task.title) {
    case 'tells':
      say({ type: 'message', text: `at ${step.name}` });
      say({ type: 'progress', percent: 50, text: 'half' });
      return say({
        type: 'result',
        text: `${step.name} after ${earlier.map((one) => `${one.step}: ${one.text}`).join(', ') || 'nothing'}`,
        usage: { input_tokens: 7, output_tokens: 3 },
      });
    case 'environment':
      return say({ type: 'result', text: Object.keys(process.env).toSorted().join(' ') });
    case 'token':
      complain(`token ${process.env['SERVICE_TOKEN']}`);
      say({ type: 'message', text: `it is ${process.env['SERVICE_TOKEN']}` });
      return say({ type: 'result', text: `the token is ${process.env['SERVICE_TOKEN']}` });
    case 'fails once':
      if (step.attempt === 1) return say({ type: 'error', message: 'not this time' });
      return say({ type: 'result', text: `attempt ${step.attempt}` });
    case 'gives up':
      return say({ type: 'error', message: 'never', recoverable: false });
    case 'escalates':
      return say({ type: 'escalate', reason: 'who decides?' });
    case 'dies':
      process.exit(7);
      break;
    case 'babbles':
      return void process.stdout.write('Hello, I am an agent\n');
    case 'takes much':
      return say({ type: 'usage', input_tokens: 900, output_tokens: 200 });
    case 'hangs': {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      process.on('SIGTERM', () => complain('asked to end'));
      say({ type: 'message', text: `pids ${process.pid} ${child.pid}` });
      setInterval(() => {}, 1_000);
      return;
    }
    case 'is repeated':
      if (request.repeated) return say({ type: 'result', text: 'done by the second' });
      return say({ type: 'message', text: `pid ${process.pid}` });
    default:
      return say({ type: 'result', text: `nothing to do for ${task.title}` });
  }
}
