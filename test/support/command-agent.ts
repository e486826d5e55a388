/* An agent that is a program and acts by the title of its task. Started by tests. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

type Request = {
  task: { title: string; metadata: Record<string, unknown> };
  step: { name: string; attempt: number };
  earlier: { step: string; text: string }[];
  repeated: boolean;
};

const send = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
const logError = (line: string) => process.stderr.write(`${line}\n`);

createInterface({ input: process.stdin })
  .on('line', (line) => work(JSON.parse(line) as Request))
  .on('close', () => {
    logError('input closed');
    process.exit();
  });

function work(request: Request): void {
  const { task, step, earlier } = request;
  switch (task.title) {
    case 'tells':
      send({ type: 'message', text: `at ${step.name}` });
      send({ type: 'progress', percent: 50, text: 'half' });
      return send({
        type: 'result',
        text: `${step.name} after ${earlier.map((result) => `${result.step}: ${result.text}`).join(', ') || 'nothing'}`,
        usage: { input_tokens: 7, output_tokens: 3 },
      });
    case 'environment':
      return send({ type: 'result', text: Object.keys(process.env).toSorted().join(' ') });
    case 'token':
      logError(`token ${process.env['SERVICE_TOKEN']}`);
      send({ type: 'message', text: `it is ${process.env['SERVICE_TOKEN']}` });
      return send({ type: 'result', text: `the token is ${process.env['SERVICE_TOKEN']}` });
    case 'fails once':
      if (step.attempt === 1) return send({ type: 'error', message: 'not this time' });
      return send({ type: 'result', text: `attempt ${step.attempt}` });
    case 'gives up':
      return send({ type: 'error', message: 'never', recoverable: false });
    case 'escalates':
      return send({ type: 'escalate', reason: 'who decides?' });
    case 'dies':
      process.exit(7);
      break;
    case 'babbles':
      return void process.stdout.write('Hello, I am an agent\n');
    case 'takes much':
      return send({ type: 'usage', input_tokens: 900, output_tokens: 200 });
    case 'hangs': {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      process.on('SIGTERM', () => logError('asked to end'));
      send({ type: 'message', text: `pids ${process.pid} ${child.pid}` });
      setInterval(() => {}, 1_000);
      return;
    }
    case 'is repeated':
      if (request.repeated) return send({ type: 'result', text: 'done by the second' });
      return send({ type: 'message', text: `pid ${process.pid}` });
    default:
      return send({ type: 'result', text: `nothing to do for ${task.title}` });
  }
}
