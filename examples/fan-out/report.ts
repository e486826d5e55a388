/**
 * Gives agents a question that they divide among themselves, and prints their report.
 *
 *   npm exec -c 'node examples/fan-out/report.ts "Which bicycle for a courier?"'   (uses the Node of the checkout)
 *
 * The service needs the catalogue `agents.yml` of this folder. In a folder with a running local service, this program needs no
 * settings; otherwise BATON_URL, BATON_API_KEY and BATON_PROJECT.
 */
import { baton, project } from '../service.ts';

const [question] = process.argv.slice(2);
if (question === undefined) {
  console.error('Usage: node report.ts QUESTION');
  process.exit(2);
}

const { execution_id: id } = await baton.tasks.submit({
  title: question.slice(0, 200),
  description: question,
  project_id: project,
  task_type: 'spec',
});
console.log(`The task is ${id}.`);

// follow reconnects by itself, and yields every event once.
for await (const event of baton.tasks.follow(id)) {
  if (event.type === 'step.started')
    console.log(`${event.data.step.name}: ${event.data.step.agent} has begun`);
  if (event.type === 'step.completed') console.log(`${event.data.step.name}: done`);
  if (event.type === 'step.failed') console.log(`${event.data.step.name}: ${event.data.error.message}`);
}

const { state, steps, errors } = await baton.tasks.waitFor(id);
console.log(`\nThe task is ${state}.\n`);
if (state !== 'completed') {
  for (const { message } of errors) console.error(message);
  process.exit(1);
}
const [report] = (await baton.tasks.artifacts(id)).filter(({ name }) => name === 'report.md');
// Without a model, nothing writes a report. The result of the last step is what the editor has said.
console.log(report ? await (await baton.tasks.download(id, report.name)).text() : steps.at(-1)?.summary);
