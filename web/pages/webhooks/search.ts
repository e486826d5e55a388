import { DELIVERY_STATUSES, type DeliveryStatus } from '../../../src/domain/webhooks/delivery.ts';
import { EVENT_KINDS, type EventKind } from '../../../src/domain/webhooks/event-kinds.ts';
import { parseText, parseList } from '../../routing/search.ts';
import { HEALTH_STATES, type WebhookHealth } from './parts/health.ts';
import { SPANS, type Span } from '../../format/spans.ts';

/** The filters of the list. */
export type WebhookListSearch = { text?: string; status?: WebhookHealth[] };

/** The filters of a webhook's log. `delivery` is the open delivery, `test` opens the test panel. */
export type LogSearch = {
  status?: DeliveryStatus[];
  event?: EventKind[];
  span?: Span;
  text?: string;
  delivery?: string;
  test?: 'yes';
};

/** The filters of the list in an address. */
export function listSearchOf(search: Record<string, unknown>): WebhookListSearch {
  const [text, status] = [parseText(search['text']), parseList(search['status'], HEALTH_STATES)];
  return { ...(text && { text }), ...(status && { status }) };
}

/** The filters of a log in an address. */
export function logSearchOf(search: Record<string, unknown>): LogSearch {
  const status = parseList(search['status'], DELIVERY_STATUSES);
  const event = parseList(search['event'], EVENT_KINDS);
  const [span] = parseList(search['span'], SPANS) ?? [];
  const [text, delivery] = [parseText(search['text']), parseText(search['delivery'])];
  return {
    ...(status && { status }),
    ...(event && { event }),
    ...(span && { span }),
    ...(text && { text }),
    ...(delivery && { delivery }),
    ...(search['test'] === 'yes' && { test: 'yes' }),
  };
}

/** A change of the log's filters. undefined removes a filter. */
export type SearchChange = { [Name in keyof LogSearch]?: LogSearch[Name] | undefined };

/** Returns the filters with a change applied, without empty ones. */
export function withChange(before: LogSearch, change: SearchChange): LogSearch {
  return Object.fromEntries(
    Object.entries({ ...before, ...change }).filter(([, value]) => value !== undefined && value.length > 0),
  );
}
