import type { Command } from 'commander';
import { readSecret } from '../ask.ts';
import { contextOf } from '../context.ts';
import { describeAttempt } from '../describe-delivery.ts';
import { describeWebhook, describeWebhooks } from '../describe-webhook.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import type { Api } from '../http.ts';
import { idOf } from '../ids.ts';
import { ioOf, type Io } from '../io.ts';
import { fields, table } from '../output.ts';
import type { DeliveryAttempt, Page, Stats, Verdict, Webhook, CompleteList } from '../shapes.ts';
import { addEventOptions, type EventOptions, newSecret, subscriptionsOf } from '../webhook-options.ts';
import { addPaging, moreLine, type Paging } from './paging.ts';

const WEBHOOKS = '/api/v1/webhooks';
/** Maximum number of concurrent requests for statistics. */
const MAX_CONCURRENT = 8;

type ChangeOptions = EventOptions & {
  name?: string;
  description?: string;
  to?: string;
  includeSecretHeader?: boolean;
  allowSecretOverHttp?: true;
  standardWebhooks?: boolean;
  /** `create` has only the option for false. */
  active?: true;
  inactive?: true;
};
type TestAttempt = DeliveryAttempt & { delivery_id: string };
type SecretOptions = { secret: boolean; secretFile?: string };

/** `baton webhook …` */
export function addWebhookCommands(program: Command): void {
  const webhook = program.command('webhook').description('Manage webhooks');
  addCreate(webhook);
  addReading(webhook);
  addEdit(webhook);
  addTest(webhook);
  addPreview(webhook);
  addRotateSecret(webhook);
  webhook
    .command('delete <webhook-id>')
    .description('Delete a webhook and cancel its pending deliveries')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = contextOf(command);
      await api().call('DELETE', pathOf(id));
      output.document({ id, deleted: true });
      output.line(`${id} deleted`);
    });
}

function addCreate(webhook: Command): void {
  const create = webhook
    .command('create')
    .description('Create a webhook with a generated secret, which is shown once')
    .requiredOption('--name <text>', 'name of the webhook')
    .requiredOption('--to <address>', 'https or http address of the endpoint')
    .option('--description <text>', 'what the webhook is for')
    .option('--secret-file <path>', 'use the secret in this file, - for stdin')
    .option('--no-secret', 'create without a secret: deliveries are not signed')
    .option('--include-secret-header', 'send the secret itself as X-Webhook-Secret')
    .option('--allow-secret-over-http', 'send it even to an http address, where others can read it')
    .option('--standard-webhooks', 'also send the headers of Standard Webhooks')
    .option('--inactive', 'create the webhook inactive');
  addEventOptions(create).action(async (options: ChangeOptions & SecretOptions, command: Command) => {
    const events = await subscriptionsOf(options, ioOf(command));
    if (events === undefined) throw usageError('Use --event or --events to choose what to send');
    const { secret, madeHere } = await newSecret(options, ioOf(command));
    const { api, output } = contextOf(command);
    const body = { ...fieldsOf(options), events, secret };
    const made = await api().call<Webhook>('POST', WEBHOOKS, { body });
    const shown = madeHere ? secret : undefined;
    output.document({ ...made, ...(shown === undefined ? {} : { secret: shown }) });
    output.line(describeWebhook(made));
    output.line(shown === undefined ? '' : `\n${secretLines(shown)}`);
  });
}

function addReading(webhook: Command): void {
  addPaging(
    webhook.command('list').description('List webhooks with statistics of the last 24 hours, newest first'),
  )
    .option('--no-stats', 'omit the statistics')
    .action(async (options: Paging & { stats: boolean }, command: Command) => {
      const context = contextOf(command);
      const api = context.api();
      const { limit, cursor } = options;
      const page = await api.call<Page<Webhook>>('GET', WEBHOOKS, { query: { limit, cursor } });
      const figures = options.stats ? await fetchStats(api, page.data) : [];
      const data = page.data.map((one, index) => ({ ...one, stats: figures[index] }));
      context.output.document({ ...page, data });
      context.output.line(describeWebhooks(page.data, figures) + moreLine(page));
    });
  webhook
    .command('show <webhook-id>')
    .description('Show a webhook with statistics of the last 24 hours')
    .action(async (id: string, _options: object, command: Command) => {
      const context = contextOf(command);
      const api = context.api();
      const [found, stats] = await Promise.all([
        api.call<Webhook>('GET', pathOf(id)),
        api.call<Stats>('GET', `${pathOf(id)}/stats`),
      ]);
      context.output.document({ ...found, stats });
      context.output.line(describeWebhook(found, stats));
    });
}

/** Returns the statistics in the order of the webhooks; undefined for a webhook that no longer exists. */
async function fetchStats(api: Api, webhooks: readonly Webhook[]): Promise<(Stats | undefined)[]> {
  const figures: (Stats | undefined)[] = [];
  for (let from = 0; from < webhooks.length; from += MAX_CONCURRENT) {
    const some = webhooks
      .slice(from, from + MAX_CONCURRENT)
      .map(({ id }) => api.call<Stats>('GET', `${WEBHOOKS}/${id}/stats`).catch(() => undefined));
    figures.push(...(await Promise.all(some)));
  }
  return figures;
}

function addEdit(webhook: Command): void {
  const edit = webhook
    .command('edit <webhook-id>')
    .description('Change a webhook, effective from the next attempt')
    .option('--name <text>', 'name of the webhook')
    .option('--to <address>', 'address of the endpoint')
    .option('--description <text>', 'what the webhook is for; empty: no description')
    .option('--include-secret-header', 'send the secret itself as X-Webhook-Secret')
    .option('--no-include-secret-header', 'do not send the secret itself')
    .option('--allow-secret-over-http', 'send the secret even to an http address, where others can read it')
    .option('--standard-webhooks', 'also send the headers of Standard Webhooks')
    .option('--no-standard-webhooks', 'do not send the headers of Standard Webhooks')
    .option(
      '--secret-file <path>',
      'replace the secret with the one in this file, - for stdin; required to send it to a new URL',
    )
    .option('--no-secret', 'remove the secret: deliveries are no longer signed')
    .option('--active', 'activate the webhook, even if failures disabled it')
    .option('--inactive', 'deactivate the webhook: events are skipped');
  addEventOptions(edit).action(
    async (id: string, options: ChangeOptions & SecretOptions, command: Command) => {
      const body = {
        ...fieldsOf(options),
        events: await subscriptionsOf(options, ioOf(command)),
        secret: await secretChangeOf(options, ioOf(command)),
      };
      if (Object.values(body).every((value) => value === undefined))
        throw usageError('Nothing to change. Use one of the options');
      const { api, output } = contextOf(command);
      const changed = await api().call<Webhook>('PATCH', pathOf(id), { body });
      output.document(changed);
      output.line(describeWebhook(changed));
    },
  );
}

/** Returns the secret of an edit: from a file, null with `--no-secret`, or undefined if it stays. */
async function secretChangeOf(
  { secret, secretFile }: SecretOptions,
  io: Io,
): Promise<string | null | undefined> {
  if (secretFile === undefined) return secret ? undefined : null;
  if (!secret) throw usageError('Use either --secret-file or --no-secret');
  return await readSecret(secretFile, io);
}

function fieldsOf(options: ChangeOptions): Record<string, string | boolean | undefined> {
  if (options.active && options.inactive) throw usageError('Use either --active or --inactive');
  return {
    name: options.name,
    description: options.description,
    url: options.to,
    include_secret_header: options.includeSecretHeader,
    allow_secret_over_http: options.allowSecretOverHttp,
    standard_webhooks: options.standardWebhooks,
    active: options.inactive ? false : options.active,
  };
}

function addTest(webhook: Command): void {
  webhook
    .command('test <webhook-id>')
    .description('Send a sample event and show the response. Exits with 1 if the delivery fails')
    .option('--event <kind>', "event kind of the sample; default: the webhook's first")
    .action(async (id: string, options: { event?: string }, command: Command) => {
      const context = contextOf(command);
      const api = context.api();
      const event = options.event ?? (await api.call<Webhook>('GET', pathOf(id))).events[0]?.event;
      const attempt = await api.call<TestAttempt>('POST', `${pathOf(id)}/test`, { body: { event } });
      context.output.document(attempt);
      context.output.line(fields([['Delivery', attempt.delivery_id]]));
      context.output.line(describeAttempt(attempt));
      ioOf(command).exitCode = attempt.failure === null ? EXIT.ok : EXIT.failed;
    });
}

function addPreview(webhook: Command): void {
  const preview = webhook
    .command('preview [webhook-id]')
    .description('Show which recent events match a webhook, or the given events and filters')
    .option('--limit <n>', 'number of events, 1 to 100');
  addEventOptions(preview).action(
    async (id: string | undefined, options: EventOptions & { limit?: string }, command: Command) => {
      const events = await subscriptionsOf(options, ioOf(command));
      if (id === undefined && events === undefined) throw usageError('Use a webhook id or --event');
      const path = id === undefined ? `${WEBHOOKS}/preview` : `${pathOf(id)}/preview`;
      const limit = options.limit === undefined ? undefined : Number(options.limit);
      const { api, output } = contextOf(command);
      const verdicts = await api().call<CompleteList<Verdict>>('POST', path, { body: { events, limit } });
      output.document(verdicts);
      const rows = verdicts.data.map((one) => [
        one.verdict,
        one.event,
        one.event_id,
        one.timestamp,
        one.reason ?? '',
      ]);
      const headings = ['VERDICT', 'EVENT', 'ID', 'TIME', 'REASON'];
      output.line(rows.length === 0 ? 'No events yet' : table(headings, rows));
    },
  );
}

function addRotateSecret(webhook: Command): void {
  webhook
    .command('rotate-secret <webhook-id>')
    .description('Replace the secret. The old one also signs during the overlap')
    .option('--secret-file <path>', 'file with the new secret, - for stdin; default: generated')
    .option('--overlap-hours <n>', 'hours during which the old secret also signs; default: 24')
    .action(async (id: string, options: { secretFile?: string; overlapHours?: string }, command: Command) => {
      const secret =
        options.secretFile === undefined ? undefined : await readSecret(options.secretFile, ioOf(command));
      const body = { secret, overlap_hours: hoursOf(options.overlapHours) };
      const { api, output } = contextOf(command);
      const path = `${pathOf(id)}/rotate-secret`;
      const rotated = await api().call<Webhook & { secret?: string }>('POST', path, { body });
      output.document(rotated);
      output.line(rotated.secret === undefined ? `Secret of ${id} replaced` : secretLines(rotated.secret));
    });
}

/** Formats a generated secret. */
export function secretLines(secret: string): string {
  return fields([
    ['Secret', secret],
    ['', 'The secret is not shown again.'],
  ]);
}

function hoursOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const hours = Number(text);
  if (text.trim() === '' || !Number.isFinite(hours)) throw usageError('--overlap-hours must be a number');
  return hours;
}

function pathOf(id: string): string {
  return `${WEBHOOKS}/${idOf('webhook', id)}`;
}
