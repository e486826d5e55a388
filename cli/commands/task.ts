import { type Command, Option } from 'commander';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { TASK_TYPES } from '../../src/domain/tasks/task-run.ts';
import { RUN_ERROR_CODES, TASK_STATES } from '../../src/domain/tasks/task-states.ts';
import { storeCallbackSecret } from '../callback-secrets.ts';
import { type Context, contextOf } from '../context.ts';
import { EXIT, exitCodeOf, usageError } from '../exit-codes.ts';
import type { Api } from '../http.ts';
import { type Io, ioOf } from '../io.ts';
import { printable, table } from '../output.ts';
import { noteOf } from '../run-picture.ts';
import type { CallbackAttempt, Detail, Listed, Page, Rerun, Submitted, CompleteList } from '../shapes.ts';
import { describeListed, describeRun, describeSubmitted } from '../describe.ts';
import { type SubmitOptions, submissionOf } from '../task-options.ts';
import { TASKS, taskPath } from '../task-path.ts';
import { waitForEnd } from '../wait.ts';
import { watchRun } from '../watch.ts';
import { addWorkCommands } from './task-work.ts';

/** `baton task …` */
export function addTaskCommands(program: Command): void {
  const task = program.command('task').description('Submit tasks and follow their runs');
  addSubmit(task);
  addRerun(task);
  addReading(task);
  addWorkCommands(task);
  addActions(task);
}

function addSubmit(task: Command): void {
  task
    .command('submit')
    .description('Submit a task')
    .requiredOption('--title <text>', 'short title')
    .option('--project <id>', "project; default: the credential's project")
    .addOption(new Option('--type <type>', 'type, selects the team of agents').choices(TASK_TYPES))
    .option('--description <text>', 'full prompt for the agents')
    .option('--description-file <path>', 'read the description from a file, `-` for stdin')
    .option('--callback-url <url>', 'https address for the signed result')
    .option('--metadata <json>', 'JSON object that is passed through')
    .option('--idempotency-key <key>', 'makes repeating this command safe')
    .addOption(new Option('--wait', 'wait until the run ends, then show it').conflicts('watch'))
    .option('--watch', 'show the run live until it ends')
    .action(async (options: SubmitOptions, command: Command) => {
      const context = contextOf(command);
      const api = context.api();
      const submitted = await submit(api, options, ioOf(command));
      if (options.callbackUrl !== undefined) keepSecret(context, submitted);
      ioOf(command).exitCode = await afterSubmission(context, api, submitted, options);
    });
}

function addRerun(task: Command): void {
  task
    .command('rerun <execution-id>')
    .description('Rerun an ended task and keep its completed steps')
    .option('--from-step <name>', 'first step to run again; default: the first incomplete step')
    .option('--answer <text>', 'answer to the escalation, for the agent of the step that escalated')
    .option('--idempotency-key <key>', 'makes repeating this command safe')
    .addOption(new Option('--wait', 'wait until the run ends, then show it').conflicts('watch'))
    .option('--watch', 'show the run live until it ends')
    .action(async (id: string, options: RerunOptions, command: Command) => {
      const context = contextOf(command);
      const api = context.api();
      const again = await api.call<Rerun>('POST', `${taskPath(id)}/rerun`, {
        body: { from_step: options.fromStep, answer: options.answer },
        headers: repeatable(options.idempotencyKey),
      });
      if (again.callback_url !== null) keepSecret(context, again);
      ioOf(command).exitCode = await afterSubmission(context, api, again, options);
    });
}

type RerunOptions = Pick<SubmitOptions, 'idempotencyKey' | 'wait' | 'watch'> & {
  fromStep?: string;
  answer?: string;
};

/** Returns the `Idempotency-Key` header, if a key is given. */
function repeatable(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { 'idempotency-key': key };
}

async function submit(api: Api, options: SubmitOptions, io: Io): Promise<Submitted> {
  const body = await submissionOf(options, api, io);
  return await api.call<Submitted>('POST', TASKS, { body, headers: repeatable(options.idempotencyKey) });
}

/** The task is submitted, so a secret that cannot be stored must not hide its id. */
function keepSecret({ env, output }: Context, { execution_id, callback_secret }: Submitted): void {
  try {
    storeCallbackSecret(env, execution_id, callback_secret);
    output.note('Stored the callback secret, so that `baton receiver` can verify the callback');
  } catch (error) {
    const why = printable((error as Error).message);
    output.note(`Could not store the callback secret for \`baton receiver\`: ${why}`);
  }
}

/** Returns the exit code. */
async function afterSubmission(
  { output }: Context,
  api: Api,
  submitted: Submitted,
  options: Pick<SubmitOptions, 'wait' | 'watch'>,
): Promise<number> {
  if (options.watch) {
    output.jsonLine(submitted);
    output.line(`${describeSubmitted(submitted)}\n`);
    return exitCodeOf(await watchRun(api, output, submitted.execution_id));
  }
  if (options.wait) {
    const run = await waitForEnd(api, output, submitted.execution_id);
    output.document({ ...run, callback_secret: submitted.callback_secret });
    output.line(describeRun(run));
    return exitCodeOf(run.state);
  }
  output.document(submitted);
  output.line(describeSubmitted(submitted));
  return EXIT.ok;
}

type ListOptions = {
  search?: string;
  needsMe?: true;
  createdBy?: string;
  state?: string[];
  type?: string[];
  error?: string[];
  createdAfter?: string;
  createdBefore?: string;
  metadata?: string[];
  project?: string;
  limit?: string;
  cursor?: string;
};

function addReading(task: Command): void {
  task
    .command('get <execution-id>')
    .description('Show a run')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = contextOf(command);
      const run = await api().call<Detail>('GET', taskPath(id));
      output.document(run);
      output.line(describeRun(run));
    });
  task
    .command('list')
    .description('List and search runs, newest first')
    .option('--search <text>', 'only runs with these words in title or metadata, or with this id')
    .option('--needs-me', 'only runs that wait for a person: with a question, or escalated')
    .option('--created-by <submitter>', 'only runs of user:<e-mail> or key:<prefix>; `me`: your own')
    .addOption(new Option('--state <state...>', 'only these states').choices(TASK_STATES))
    .addOption(new Option('--type <type...>', 'only these types').choices(TASK_TYPES))
    .addOption(new Option('--error <code...>', 'only runs with one of these errors').choices(RUN_ERROR_CODES))
    .option('--created-after <time>', 'submitted at or after this time (ISO 8601)')
    .option('--created-before <time>', 'submitted before this time (ISO 8601)')
    .option('--metadata <name=value...>', 'only runs with this metadata')
    .option('--project <id>', 'only runs of this project')
    .option('--limit <n>', 'rows, 1 to 200')
    .option('--cursor <cursor>', 'next_cursor of the previous page')
    .action(async (options: ListOptions, command: Command) => {
      const { api, output } = contextOf(command);
      const page = await api().call<Page<Listed>>('GET', TASKS, { query: listQuery(options) });
      output.document(page);
      const isEmptyPart = page.data.length === 0 && page.next_cursor !== null;
      output.line(isEmptyPart ? 'No runs on this page' : describeListed(page.data));
      if (page.next_cursor !== null) output.line(`\nMore: --cursor ${page.next_cursor}`);
    });
  task
    .command('watch <execution-id>')
    .description('Follow a run to its end')
    .option('--after <seq>', 'only events after this seq', '0')
    .action(async (id: string, { after }: { after: string }, command: Command) => {
      const { api, output } = contextOf(command);
      taskPath(id);
      ioOf(command).exitCode = exitCodeOf(await watchRun(api(), output, id, { after: seqOf(after) }));
    });
  task
    .command('events <execution-id>')
    .description('List the events of a run')
    .option('--after <seq>', 'only events after this seq', '0')
    .action(async (id: string, { after }: { after: string }, command: Command) => {
      const { api, output } = contextOf(command);
      const query = { after: seqOf(after) };
      const { data } = await api().call<CompleteList<FeedEvent>>('GET', `${taskPath(id)}/events`, { query });
      for (const event of data) {
        output.jsonLine(event);
        output.line(`${String(event.seq).padStart(4)}  ${event.at}  ${printable(noteOf(event))}`);
      }
    });
  task
    .command('callbacks <execution-id>')
    .description('List the attempts to send the callback')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = contextOf(command);
      const list = await api().call<CompleteList<CallbackAttempt>>('GET', `${taskPath(id)}/callbacks`);
      output.document(list);
      output.line(describeCallbacks(list.data));
    });
}

function describeCallbacks(attempts: readonly CallbackAttempt[]): string {
  if (attempts.length === 0) return 'No attempts';
  const rows = attempts.map((attempt) => [
    attempt.attempt,
    attempt.trigger,
    attempt.attempted_at,
    attempt.response_status,
    attempt.failure,
    attempt.duration_ms === null ? null : `${attempt.duration_ms} ms`,
    attempt.address ?? null,
    attempt.next_attempt_at,
    attempt.message,
  ]);
  return table(
    ['#', 'TRIGGER', 'ATTEMPTED', 'STATUS', 'FAILURE', 'DURATION', 'ADDRESS', 'NEXT', 'MESSAGE'],
    rows,
  );
}

function listQuery(options: ListOptions): Record<string, string | string[] | undefined> {
  const metadata = (options.metadata ?? []).map((pair): [string, string] => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (name === undefined || value === undefined)
      throw usageError(`--metadata "${pair}" must be name=value`);
    return [`metadata.${name}`, value];
  });
  const parameters = Object.fromEntries(metadata);
  if (Object.keys(parameters).length < metadata.length)
    throw usageError('--metadata must not contain a name twice');
  return {
    q: options.search,
    needs_me: options.needsMe && 'true',
    created_by: options.createdBy,
    state: options.state?.join(','),
    task_type: options.type?.join(','),
    errors: options.error?.join(','),
    created_after: options.createdAfter,
    created_before: options.createdBefore,
    project_id: options.project,
    limit: options.limit,
    cursor: options.cursor,
    ...parameters,
  };
}

function addActions(task: Command): void {
  const actions = [
    ['pause', 'Pause a run: no new step starts until it is continued'],
    ['continue', 'Continue a paused run'],
    ['cancel', 'Cancel a run'],
  ] as const;
  for (const [action, description] of actions) {
    const one = task
      .command(`${action} <execution-id>`)
      .description(description)
      .option('--reason <text>', 'reason, shown to people')
      .action(async (id: string, options: { reason?: string; question?: string }, command: Command) => {
        const { api, output } = contextOf(command);
        const run = await api().call<Detail>('POST', `${taskPath(id)}/${action}`, { body: options });
        output.document(run);
        output.line(`${run.execution_id} is ${run.state}`);
      });
    if (action === 'continue')
      one.option('--question <id>', 'question that this answers, needed if the run has asked more than one');
  }
  task
    .command('retry-callback <execution-id>')
    .description('Retry a failed callback once')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = contextOf(command);
      const run = await api().call<Detail>('POST', `${taskPath(id)}/callback/retry`);
      output.document(run);
      output.line(`The callback of ${run.execution_id} will be retried now`);
    });
  task
    .command('delete <execution-id>')
    .description('Erase the data of an ended run')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = contextOf(command);
      await api().call('DELETE', taskPath(id));
      output.document({ execution_id: id, deleted: true });
      output.line(`${id} erased`);
    });
}

function seqOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw usageError('--after must be a whole number');
  return Number(text);
}
