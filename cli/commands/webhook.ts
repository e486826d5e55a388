import type { Command } from 'commander';
import { readSecret } from '../ask.ts';
import { contextOf } from '../context.ts';
import { describeAttempt } from '../describe-delivery.ts';
import { describeWebhook, describeWebhooks } from '../describe-webhook.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import type { Api } from '../http.ts';
import { ioOf } from '../io.ts';
import { fields, table } from '../output.ts';
import type { DeliveryAttempt, Page, Stats, Verdict, Webhook, Whole } from '../shapes.ts';
import { addEventOptions, type EventOptions, newSecret, subscriptionsOf } from '../webhook-options.ts';
import { addPaging, moreLine, type Paging } from './paging.ts';

const WEBHOOKS = '/api/v1/webhooks';
/** Requests for figures that are under way at once. */
const AT_ONCE = 8;

type ChangeOptions = EventOptions & {
  name?: string;
  to?: string;
  includeSecretHeader?: boolean;
  standardWebhooks?: boolean;
  /** False and true are options of their own; `create` has the first one alone. */
  active?: true;
  inactive?: true;
};
type TestAttempt = DeliveryAttempt & { delivery_id: string };
type SecretOptions = { secret: boolean; secretFile?: string };

/** `baton webhook …` */
export function addWebhookCommands(program: Command): void {
  const webhook = program.command('webhook').description('Addresses that events are sent to');
  addCreate(webhook);
  addReading(webhook);
  addEdit(webhook);
  addTest(webhook);
  addPreview(webhook);
  addRotateSecret(webhook);
  webhook
    .command('delete <webhook-id>')
    .description('Delete a webhook; what it has not sent yet is cancelled')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = contextOf(command);
      await api().call('DELETE', pathOf(id));
      output.document({ id, deleted: true });
      output.line(`${id} is deleted`);
    });
}

function addCreate(webhook: Command): void {
  const create = webhook
    .command('create')
    .description('Make a webhook; unless told otherwise with a secret, which is shown this once')
    .requiredOption('--name <text>', 'what it is for')
    .requiredOption('--to <address>', 'https or http address that events are sent to')
    .option('--secret-file <path>', 'a secret of your own, - for stdin')
    .option('--no-secret', 'without a secret: deliveries are not signed')
    .option('--include-secret-header', 'send the secret itself as X-Webhook-Secret')
    .option('--standard-webhooks', 'send the headers of Standard Webhooks, too')
    .option('--inactive', 'send nothing yet');
  addEventOptions(create).action(async (options: ChangeOptions & SecretOptions, command: Command) => {
    const events = await subscriptionsOf(options, ioOf(command));
    if (events === undefined) throw usageError('Say what is sent, with --event or --events');
    const { secret, madeHere } = await newSecret(options, ioOf(command));
    const { api, output } = contextOf(command);
    const body = { ...membersOf(options), events, secret };
    const made = await api().call<Webhook>('POST', WEBHOOKS, { body });
    const shown = madeHere ? secret : undefined;
    output.document({ ...made, ...(shown === undefined ? {} : { secret: shown }) });
    output.line(describeWebhook(made));
    output.line(shown === undefined ? '' : `\n${secretLines(shown)}`);
  });
}

function addReading(webhook: Command): void {
  addPaging(webhook.command('list').description('List webhooks with their last 24 hours, the newest first'))
    .option('--no-stats', 'leave the figures out')
    .action(async (options: Paging & { stats: boolean }, command: Command) => {
      const context = contextOf(command);
      const api = context.api();
      const { limit, cursor } = options;
      const page = await api.call<Page<Webhook>>('GET', WEBHOOKS, { query: { limit, cursor } });
      const figures = options.stats ? await figuresOf(api, page.data) : [];
      const data = page.data.map((one, index) => ({ ...one, stats: figures[index] }));
      context.output.document({ ...page, data });
      context.output.line(describeWebhooks(page.data, figures) + moreLine(page));
    });
  webhook
    .command('show <webhook-id>')
    .description('Show a webhook with its last 24 hours')
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

/** In the order of the webhooks; one that was deleted meanwhile has none. */
async function figuresOf(api: Api, webhooks: readonly Webhook[]): Promise<(Stats | undefined)[]> {
  const figures: (Stats | undefined)[] = [];
  for (let from = 0; from < webhooks.length; from += AT_ONCE) {
    const some = webhooks
      .slice(from, from + AT_ONCE)
      .map(({ id }) => api.call<Stats>('GET', `${WEBHOOKS}/${id}/stats`).catch(() => undefined));
    figures.push(...(await Promise.all(some)));
  }
  return figures;
}

function addEdit(webhook: Command): void {
  const edit = webhook
    .command('edit <webhook-id>')
    .description('Change a webhook; it holds from the next attempt on')
    .option('--name <text>', 'what it is for')
    .option('--to <address>', 'where events are sent')
    .option('--include-secret-header', 'send the secret itself as X-Webhook-Secret')
    .option('--no-include-secret-header')
    .option('--standard-webhooks', 'send the headers of Standard Webhooks, too')
    .option('--no-standard-webhooks')
    .option('--no-secret', 'remove the secret: deliveries are not signed any more')
    .option('--active', 'switch it on; also after it was disabled by failures')
    .option('--inactive', 'switch it off: events are skipped');
  addEventOptions(edit).action(
    async (id: string, options: ChangeOptions & SecretOptions, command: Command) => {
      const body = {
        ...membersOf(options),
        events: await subscriptionsOf(options, ioOf(command)),
        ...(options.secret ? {} : { secret: null }),
      };
      if (Object.values(body).every((value) => value === undefined)) throw usageError('Say what to change');
      const { api, output } = contextOf(command);
      const changed = await api().call<Webhook>('PATCH', pathOf(id), { body });
      output.document(changed);
      output.line(describeWebhook(changed));
    },
  );
}

function membersOf(options: ChangeOptions): Record<string, string | boolean | undefined> {
  if (options.active && options.inactive) throw usageError('Give either --active or --inactive');
  return {
    name: options.name,
    url: options.to,
    include_secret_header: options.includeSecretHeader,
    standard_webhooks: options.standardWebhooks,
    active: options.inactive ? false : options.active,
  };
}

function addTest(webhook: Command): void {
  webhook
    .command('test <webhook-id>')
    .description('Send a sample event now, and show what comes back; ends with 1 where it fails')
    .option('--event <kind>', 'whose sample; the first that the webhook is for unless given')
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
    .description("Show which of the recent events a webhook's filters, or those given here, would send")
    .option('--limit <n>', 'how many events, 1 to 100');
  addEventOptions(preview).action(
    async (id: string | undefined, options: EventOptions & { limit?: string }, command: Command) => {
      const events = await subscriptionsOf(options, ioOf(command));
      if (id === undefined && events === undefined) throw usageError('Give a webhook, or --event');
      const path = id === undefined ? `${WEBHOOKS}/preview` : `${pathOf(id)}/preview`;
      const limit = options.limit === undefined ? undefined : Number(options.limit);
      const { api, output } = contextOf(command);
      const verdicts = await api().call<Whole<Verdict>>('POST', path, { body: { events, limit } });
      output.document(verdicts);
      const rows = verdicts.data.map((one) => [
        one.verdict,
        one.event,
        one.event_id,
        one.timestamp,
        one.reason ?? '',
      ]);
      const headings = ['WOULD', 'EVENT', 'ID', 'TIME', 'WHY'];
      output.line(rows.length === 0 ? 'There are no events yet' : table(headings, rows));
    },
  );
}

function addRotateSecret(webhook: Command): void {
  webhook
    .command('rotate-secret <webhook-id>')
    .description('Give it another secret; for a while the old one signs, too')
    .option('--secret-file <path>', 'the new one, - for stdin; made by the service unless given')
    .option('--overlap-hours <n>', 'how long the old one signs, too; 24 unless given')
    .action(async (id: string, options: { secretFile?: string; overlapHours?: string }, command: Command) => {
      const secret =
        options.secretFile === undefined ? undefined : await readSecret(options.secretFile, ioOf(command));
      const body = { secret, overlap_hours: hoursOf(options.overlapHours) };
      const { api, output } = contextOf(command);
      const path = `${pathOf(id)}/rotate-secret`;
      const rotated = await api().call<Webhook & { secret?: string }>('POST', path, { body });
      output.document(rotated);
      output.line(rotated.secret === undefined ? `${id} has its new secret` : secretLines(rotated.secret));
    });
}

function secretLines(secret: string): string {
  return fields([
    ['Secret', secret],
    ['', 'It is not shown again.'],
  ]);
}

function hoursOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const hours = Number(text);
  if (text.trim() === '' || !Number.isFinite(hours)) throw usageError('--overlap-hours takes a number');
  return hours;
}

/** Refuses what would become another path. */
function pathOf(id: string): string {
  if (!/^[0-9a-f-]{1,64}$/i.test(id)) throw usageError(`"${id}" is no webhook id`);
  return `${WEBHOOKS}/${id}`;
}
