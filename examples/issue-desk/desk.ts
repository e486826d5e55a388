/**
 * An issue desk: agents work on every new issue, and a page shows their answers.
 *
 *   npm exec -c 'node examples/issue-desk/desk.ts'        (uses the Node of the checkout)
 *
 * It creates a webhook for `issue.created` and deletes it when it ends. For each delivery it submits a task, whose callback
 * brings the answer. In a folder with a running local service it needs no settings; otherwise BATON_URL, BATON_API_KEY and
 * BATON_PROJECT, and DESK_URL, the public https address of this program.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createPage, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { SignatureError, verifyCallback, verifyWebhook } from 'baton/client/verify';
import { baton, folder, project } from '../service.ts';

/** What the page shows of an issue. In production, keep it in a table: a restart of this program forgets it. */
type Answer = { key: string; title: string; run: string; state: string; text: string };

const PORT = Number(process.env['PORT'] ?? 8444);
const HERE = process.env['DESK_URL'] ?? `https://localhost:${PORT}`;
const PAGE_PORT = PORT + 1;
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** By `execution_id`. The secret comes with the response to a submission and verifies the callback. */
const answers = new Map<string, Answer & { secret: string }>();
const webhookSecret = randomBytes(32).toString('hex');

const receiver = createServer(
  { cert: readFileSync(`${folder}/tls/localhost.pem`), key: readFileSync(`${folder}/tls/localhost-key.pem`) },
  (request, response) => {
    receive(request).then(
      () => response.writeHead(204).end(),
      (error: unknown) => {
        // Baton repeats a delivery or a callback after any status but 2xx.
        response.writeHead(error instanceof SignatureError ? 401 : 500).end();
        console.error(String(error));
      },
    );
  },
);
const page = createPage((request, response) => {
  if (request.url === '/answers')
    return respond(response, 'application/json', JSON.stringify(shownAnswers()));
  respond(response, 'text/html; charset=utf-8', PAGE);
});

function respond(response: ServerResponse, type: string, text: string): void {
  response.setHeader('Content-Type', type).end(text);
}

function shownAnswers(): Answer[] {
  return [...answers.values()].map(({ secret: _secret, ...answer }) => answer);
}

async function receive(request: IncomingMessage): Promise<void> {
  const body = await bytesOf(request);
  if (request.url === '/events') await receiveEvent(body, request);
  else if (request.url === '/callbacks') await receiveCallback(body, request);
  else throw new Error(`nothing is expected at ${request.url}`);
}

/** Submits a task for the issue of a delivery. */
async function receiveEvent(body: Buffer, { headers }: IncomingMessage): Promise<void> {
  const payload = await verifyWebhook(body, headers, webhookSecret);
  if (payload.event !== 'issue.created') return;
  const { issue } = payload.data;
  const { id, description } = issue;
  const name = issue.key ?? id;
  const title = issue.title ?? name;
  const submitted = await baton.tasks.submit(
    {
      title: title.slice(0, 200),
      description: typeof description === 'string' ? description : '',
      project_id: project,
      task_type: 'bug',
      callback_url: `${HERE}/callbacks`,
      metadata: { issue: id },
    },
    // The same delivery may arrive twice. The key makes the second submission return the first task.
    { idempotencyKey: `issue-desk-${payload.id}` },
  );
  const { execution_id: run, callback_secret: secret } = submitted;
  answers.set(run, { key: name, title, run, state: 'in progress', text: '', secret });
  console.log(`${name}: agents are working on it (${run})`);
}

/** Shows the answer that a callback brings. */
async function receiveCallback(body: Buffer, { headers }: IncomingMessage): Promise<void> {
  const answer = answers.get(String(headers['x-service-delivery']));
  // The callback may overtake the response to the submission. Baton sends it again a second later.
  if (answer === undefined) throw new Error('a callback of an unknown task');
  const { status, output } = await verifyCallback(body, headers, answer.secret);
  answer.state = status;
  answer.text = textOf(output);
  console.log(`${answer.key}: ${status}`);
}

/** Returns the result of the last step. A simulated step has only a summary. */
function textOf(output: Record<string, unknown>): string {
  const steps = (output['steps'] ?? []) as { result?: string; summary?: string | null }[];
  const last = steps.at(-1);
  return last?.result ?? last?.summary ?? '';
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Issue desk</title>
<style>
  body { font: 16px/1.5 system-ui; margin: 2rem auto; max-width: 50rem; padding: 0 1rem }
  article { border-top: 1px solid #ddd; padding: 1rem 0 }
  small { color: #666 } pre { white-space: pre-wrap }
</style>
<h1>Issue desk</h1>
<main>No issues yet</main>
<script>
  async function refresh() {
    const answers = await (await fetch('/answers')).json();
    if (answers.length > 0) document.querySelector('main').replaceChildren(...answers.reverse().map(show));
    setTimeout(refresh, 500);
  }
  // The text of agents is shown as text, never as HTML.
  function show({ key, title, state, text }) {
    const article = document.createElement('article');
    for (const [name, content] of [['h2', key + ' ' + title], ['small', state], ['pre', text]]) {
      article.appendChild(document.createElement(name)).textContent = content;
    }
    return article;
  }
  refresh();
</script>
</html>
`;

page.listen(PAGE_PORT, '127.0.0.1');
receiver.listen(PORT, '127.0.0.1');
await once(receiver, 'listening');
const webhook = await baton.webhooks.create({
  name: 'Issue desk',
  url: `${HERE}/events`,
  secret: webhookSecret,
  events: [{ event: 'issue.created' }],
});
console.log(`Waiting for issues. The answers are at http://localhost:${PAGE_PORT}`);
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
await baton.webhooks.delete(webhook.id);
process.exit();
