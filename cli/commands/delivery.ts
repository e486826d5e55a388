import { type Command, Option } from 'commander';
import { DELIVERY_STATUSES } from '../../src/domain/webhooks/delivery.ts';
import { contextOf } from '../context.ts';
import { describeDeliveries, describeDelivery } from '../describe-delivery.ts';
import { usageError } from '../exit-codes.ts';
import { idOf } from '../ids.ts';
import type { Delivery, DeliveryDetail, Page } from '../shapes.ts';
import { timeOf } from '../times.ts';
import { addPaging, moreLine, type Paging } from './paging.ts';

const RECOVERABLE = ['held', 'failed', 'skipped'];

type ListOptions = Paging & {
  webhook: string;
  status?: string[];
  event?: string[];
  text?: string;
  since?: string;
  until?: string;
};

/** `baton delivery …` */
export function addDeliveryCommands(program: Command): void {
  const delivery = program.command('delivery').description('Show and retry webhook deliveries');
  addList(delivery);
  delivery
    .command('show <delivery-id>')
    .description('Show a delivery, its attempts, and the last attempt in full')
    .option('--attempt <n>', 'show this attempt in full')
    .action(async (id: string, { attempt }: { attempt?: string }, command: Command) => {
      const { api, output } = contextOf(command);
      const found = await api().call<DeliveryDetail>('GET', `/api/v1/deliveries/${idOf('delivery', id)}`);
      if (attempt !== undefined && !found.attempts.some(({ number }) => String(number) === attempt))
        throw usageError(`No attempt ${attempt}`);
      output.document(found);
      output.line(describeDelivery(found, attempt === undefined ? undefined : Number(attempt)));
    });
  delivery
    .command('retry <delivery-id>')
    .description('Retry a delivery once, now or at a given time')
    .option('--at <time>', 'ISO 8601 time or a duration such as 30m or 2h; default: now')
    .action(async (id: string, { at }: { at?: string }, command: Command) => {
      const when = at === undefined ? undefined : timeOf('--at', at, 'ahead');
      const { api, output } = contextOf(command);
      const path = `/api/v1/deliveries/${idOf('delivery', id)}/retry`;
      const answer = await api().call<Delivery>('POST', path, { body: { at: when } });
      output.document(answer);
      output.line(`${id} will be retried ${when === undefined ? 'now' : `at ${when}`}`);
    });
  delivery
    .command('cancel-retry <delivery-id>')
    .description('Cancel the scheduled retry of a delivery')
    .action(async (id: string, _options: object, command: Command) => {
      const { api, output } = contextOf(command);
      await api().call('DELETE', `/api/v1/deliveries/${idOf('delivery', id)}/retry`);
      output.document({ delivery_id: id, scheduled_at: null });
      output.line(`The scheduled retry of ${id} is cancelled`);
    });
  addRecover(delivery);
}

function addList(delivery: Command): void {
  addPaging(delivery.command('list').description("List a webhook's deliveries, newest first"))
    .requiredOption('--webhook <id>', 'the webhook')
    .option('--status <status...>', `only these statuses: ${DELIVERY_STATUSES.join(', ')}`)
    .option('--event <kind...>', 'only these kinds')
    .option('--text <words>', 'only events that contain these words')
    .option('--since <time>', 'created at or after this time: ISO 8601 or a duration such as 12h')
    .option('--until <time>', 'created before this time')
    .action(async (options: ListOptions, command: Command) => {
      const { webhook, status, event, text, since, until, limit, cursor } = options;
      const query = {
        status: status?.flatMap((one) => one.split(',')).join(','),
        event: event?.flatMap((one) => one.split(',')).join(','),
        text,
        created_after: since === undefined ? undefined : timeOf('--since', since, 'ago'),
        created_before: until === undefined ? undefined : timeOf('--until', until, 'ago'),
        limit,
        cursor,
      };
      const { api, output } = contextOf(command);
      const path = `/api/v1/webhooks/${idOf('webhook', webhook)}/deliveries`;
      const page = await api().call<Page<Delivery>>('GET', path, { query });
      output.document(page);
      output.line(describeDeliveries(page.data) + moreLine(page));
    });
}

function addRecover(delivery: Command): void {
  delivery
    .command('recover <webhook-id>')
    .description('Resend held and failed deliveries since a time, each with a new retry schedule')
    .addOption(
      new Option(
        '--since <time>',
        'created at or after this time: ISO 8601 or a duration such as 12h',
      ).makeOptionMandatory(),
    )
    .option('--status <status...>', `${RECOVERABLE.join(', ')}; default: held and failed`)
    .action(async (id: string, options: { since: string; status?: string[] }, command: Command) => {
      const statuses = options.status?.flatMap((one) => one.split(','));
      const body = { since: timeOf('--since', options.since, 'ago'), statuses };
      const { api, output } = contextOf(command);
      const path = `/api/v1/webhooks/${idOf('webhook', id)}/recover`;
      const answer = await api().call<{ count: number }>('POST', path, { body });
      output.document(answer);
      output.line(`${answer.count} ${answer.count === 1 ? 'delivery' : 'deliveries'} queued`);
    });
}
