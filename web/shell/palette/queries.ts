import { queryOptions } from '@tanstack/react-query';
import { UUID } from '../../../src/domain/common/text.ts';
import { runSearchOf } from '../../../src/domain/tasks/run-search.ts';
import { unwrap, api, type Schemas } from '../../api/client.ts';
import { isNotFound } from '../../api/problem.ts';
import type { Webhook } from '../../api/webhooks.ts';

type Delivery = Pick<
  Schemas['ListedDelivery'],
  'id' | 'webhook_id' | 'event' | 'about' | 'status' | 'created_at'
>;

const MOST = 5;
/** The webhooks whose deliveries are searched, and the deliveries of each. */
const SEARCHED_WEBHOOKS = 10;
const MOST_OF_WEBHOOK = 3;
/** The shortest text that deliveries are searched for. */
const SHORTEST = 3;

/** The newest runs that match a text; without a text, the newest ones. */
export function runsQuery(text: string) {
  return queryOptions({
    queryKey: ['palette', 'runs', text],
    queryFn: async ({ signal }) => {
      if (text !== '' && runSearchOf(text) === null) return [];
      const query = { limit: MOST, ...(text && { q: text }) };
      return (await unwrap(api.GET('/api/v1/tasks', { params: { query }, signal }))).data;
    },
    staleTime: 5_000,
  });
}

/** The newest deliveries that match a text, of the newest webhooks; or the delivery with this id. */
export function deliveriesQuery(text: string, webhooks: readonly Webhook[]) {
  const ids = webhooks.slice(0, SEARCHED_WEBHOOKS).map(({ id }) => id);
  return queryOptions({
    queryKey: ['palette', 'deliveries', text, ids],
    enabled: text.length >= SHORTEST,
    queryFn: async ({ signal }): Promise<Delivery[]> => {
      if (UUID.test(text.toLowerCase())) return await deliveryWithId(text, signal);
      const found = await Promise.all(ids.map((id) => deliveriesOf(id, text, signal)));
      return found
        .flat()
        .toSorted((one, other) => other.created_at.localeCompare(one.created_at))
        .slice(0, MOST);
    },
    staleTime: 5_000,
  });
}

async function deliveriesOf(id: string, text: string, signal: AbortSignal): Promise<Delivery[]> {
  const params = { path: { id }, query: { text, limit: MOST_OF_WEBHOOK } };
  return (await unwrap(api.GET('/api/v1/webhooks/{id}/deliveries', { params, signal }))).data;
}

async function deliveryWithId(id: string, signal: AbortSignal): Promise<Delivery[]> {
  const params = { path: { id } };
  try {
    return [await unwrap(api.GET('/api/v1/deliveries/{id}', { params, signal }))];
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}
