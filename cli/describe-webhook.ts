import type { WebhookStatus } from '../src/domain/webhooks/webhook.ts';
import { type Cell, fields, styled, table } from './output.ts';
import type { Stats, Webhook } from './shapes.ts';
import { sparkline } from './sparkline.ts';

const STATUS_COLOURS = { active: 'green', inactive: 'dim', disabled: 'red' } as const;

/** Formats a webhook with its statistics. */
export function describeWebhook(webhook: Webhook, stats?: Stats): string {
  const { status, consecutive_failures: failures, disabled_at: disabledAt } = webhook;
  const head = fields([
    ['Webhook', webhook.id],
    ['Name', webhook.name],
    ['Description', webhook.description],
    ['URL', webhook.url],
    ['Listening', webhook.listening ? 'deliveries go to `baton listen`, which forwards them' : null],
    ['Status', statusCell(status)],
    ['Disabled', disabledAt && `${disabledAt}: ${webhook.disabled_reason ?? ''}`],
    ['Failures', failures === 0 ? null : `${failures} in a row`],
    ['Signed', webhook.has_secret ? 'yes' : 'no: no secret'],
    ['Secret header', webhook.include_secret_header ? 'sent as X-Webhook-Secret' : null],
    ['Standard Webhooks', webhook.standard_webhooks ? 'headers are sent' : null],
    ['Changed', webhook.updated_at],
    ...(stats === undefined ? [] : statsFields(stats)),
  ]);
  const events = webhook.events.map(({ event, filters }) => [event, filtersOf(filters)]);
  return `${head}\n\n${table(['EVENT', 'FILTERS'], events)}`;
}

/** Formats a list of webhooks; the statistics are in the same order. */
export function describeWebhooks(
  webhooks: readonly Webhook[],
  figures: readonly (Stats | undefined)[],
): string {
  if (webhooks.length === 0) return 'No webhooks';
  const measured = figures.some((one) => one !== undefined);
  const rows = webhooks.map((webhook, index): Cell[] => {
    const stats = figures[index];
    const known = stats
      ? [{ drawn: sparkline(stats.hours) }, rateOf(stats), stats.last_delivery_at]
      : [null, null, null];
    return [
      webhook.id,
      statusCell(webhook.status),
      webhook.name,
      ...(measured ? known : []),
      eventsOf(webhook.events),
      webhook.url,
    ];
  });
  const columns = measured ? ['LAST 24 HOURS', 'OK', 'LAST DELIVERY'] : [];
  return table(['WEBHOOK', 'STATUS', 'NAME', ...columns, 'EVENTS', 'URL'], rows);
}

/** Formats all filters of an event in one line, in the syntax of the command line. */
export function filtersOf(filters: Webhook['events'][number]['filters']): string {
  return filters
    .map((filter) =>
      filter.values
        ? `${filter.field}=${filter.values.map(valueText).join(',')}`
        : `${filter.field}->${valueText(filter.changed_to)}`,
    )
    .join(' and ');
}

function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.includes(',') || text.startsWith('"') ? JSON.stringify(value) : text;
}

function statusCell(status: WebhookStatus): Cell {
  return { drawn: styled(STATUS_COLOURS[status], status) };
}

function statsFields(stats: Stats): (readonly [string, Cell])[] {
  const counted =
    stats.total === 0
      ? 'no attempts'
      : `${stats.total} attempt${stats.total === 1 ? '' : 's'}, ${rateOf(stats)} succeeded`;
  return [
    ['Last delivery', stats.last_delivery_at ?? 'none'],
    ['Last 24 hours', { drawn: `${sparkline(stats.hours)}  ${counted}` }],
  ];
}

function rateOf({ success_rate: rate }: Stats): string {
  if (rate === null) return '-';
  // Rounded down, so that 99.96 % is not shown as 100 %.
  return `${rate === 1 ? 100 : Math.min(99.9, Math.round(rate * 1_000) / 10)} %`;
}

function eventsOf(events: Webhook['events']): string {
  const [first] = events;
  const filtered = events.some(({ filters }) => filters.length > 0) ? ', filtered' : '';
  return events.length === 1 && first !== undefined
    ? first.event + filtered
    : `${events.length} kinds${filtered}`;
}
