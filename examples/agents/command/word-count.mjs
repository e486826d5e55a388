// An agent that is a program. It gets one JSON object on a line of standard input and responds with lines.
import { createInterface } from 'node:readline';

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { task, step, earlier } = JSON.parse(line);
    say({ type: 'message', text: `Counting for ${step.name}.` });
    const texts = [task.title, task.description ?? '', ...earlier.map(({ text }) => text)];
    const words = texts.map((text) => text.split(/\s+/).filter(Boolean).length);
    say({ type: 'progress', percent: 100, text: `${texts.length} texts read` });
    if (task.metadata.at_most < words[0]) return say({ type: 'escalate', reason: 'The title is too long.' });
    say({ type: 'result', text: `${words.reduce((sum, one) => sum + one, 0)} words in all.` });
  })
  // If the input ends, for example because the worker has died, nobody waits for the result.
  .on('close', () => process.exit());
