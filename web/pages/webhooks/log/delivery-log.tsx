import { Button, Group, Text, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { EmptyState, ErrorState } from '../../../components/states.tsx';
import { LoadMore } from '../../../components/load-more.tsx';
import { ListSkeleton } from '../../../components/page-states.tsx';
import { Dot } from '../../../components/status.tsx';
import { deliveriesQuery, type Delivery, type Webhook } from '../parts/queries.ts';
import { withChange, type LogSearch } from '../search.ts';
import { DeliveryPanel } from './delivery-panel.tsx';
import { DeliveryRow } from './delivery-row.tsx';
import { LogFilters } from './log-filters.tsx';
import classes from './log.module.css';
import { startOfSpan } from './spans.ts';

const routeApi = getRouteApi('/signed-in/settings/integrations/webhooks/$webhookId');

/** While the channel is unavailable. */
const POLL_MS = 3_000;
/** Logs with more loaded pages are not polled: their reader is looking at older deliveries. */
const MAX_REFRESHED_PAGES = 2;

type LogProps = {
  webhook: Webhook;
  isLive: boolean;
  /** Opens the recovery dialog; null without the permission. */
  onRecover: (() => void) | null;
};

/** The delivery log, newest first. One delivery can be open beside it. */
export function DeliveryLog({ webhook, isLive, onRecover }: LogProps) {
  const search = routeApi.useSearch();
  const navigate = routeApi.useNavigate();
  const log = useLog(webhook.id, search, isLive);
  const rows = log.data ?? [];
  const open = (id: string | undefined) =>
    void navigate({
      search: (before) => withChange(before, { delivery: id }),
      replace: search.delivery !== undefined,
      resetScroll: false,
    });
  const isFiltered = Boolean(search.status ?? search.event ?? search.span ?? search.text);
  return (
    <section aria-label="Delivery log">
      <Group justify="space-between" mb="xs">
        <Title order={2}>Deliveries</Title>
        <Group gap="sm">
          <LiveIndicator isLive={isLive} />
          {onRecover ? (
            <Button variant="default" size="xs" onClick={onRecover}>
              Recover…
            </Button>
          ) : null}
        </Group>
      </Group>
      <LogFilters />
      {log.isPending ? (
        <ListSkeleton rows={8} height={40} />
      ) : log.isError && rows.length === 0 ? (
        <ErrorState
          title="The log could not be loaded"
          error={log.error}
          onRetry={() => void log.refetch()}
        />
      ) : rows.length === 0 ? (
        <EmptyLog isFiltered={isFiltered} webhook={webhook} />
      ) : (
        <ul className={classes['rows']} aria-label="Deliveries">
          {rows.map((row) => (
            <DeliveryRow key={row.id} delivery={row} isOpen={row.id === search.delivery} />
          ))}
        </ul>
      )}
      <LoadMore {...log} />
      {search.delivery ? (
        <DeliveryPanel
          webhook={webhook}
          deliveryId={search.delivery}
          onClose={() => open(undefined)}
          onStep={(by) => open(neighbour(rows, search.delivery, by))}
        />
      ) : null}
    </section>
  );
}

function useLog(webhookId: string, { status, event, span, text }: LogSearch, isLive: boolean) {
  const filters = () => ({
    ...(status && { status }),
    ...(event && { event }),
    ...(text && { text }),
    ...(span && { created_after: startOfSpan(span) }),
  });
  return useInfiniteQuery({
    ...deliveriesQuery(webhookId, { status, event, span, text }, filters),
    placeholderData: (before) => before,
    refetchInterval: ({ state: { data } }) =>
      !isLive && (data?.pages.length ?? 0) <= MAX_REFRESHED_PAGES ? POLL_MS : false,
  });
}

/** Returns the delivery above or below the open one; the open one itself at the ends of the list. */
function neighbour(rows: readonly Delivery[], id: string | undefined, by: -1 | 1): string | undefined {
  const index = rows.findIndex((row) => row.id === id);
  return rows[index + by]?.id ?? id;
}

function LiveIndicator({ isLive }: { isLive: boolean }) {
  return (
    <Text
      span
      size="sm"
      c="dimmed"
      className={classes['live']}
      title={isLive ? 'Changes appear immediately' : 'Changes appear within 3 seconds'}
    >
      <Dot tone={isLive ? 'moving' : 'waiting'} /> {isLive ? 'live' : 'updates every 3 s'}
    </Text>
  );
}

function EmptyLog({ isFiltered, webhook }: { isFiltered: boolean; webhook: Webhook }) {
  const navigate = routeApi.useNavigate();
  if (isFiltered) {
    return (
      <EmptyState
        title="No matching deliveries"
        action={
          <Button variant="default" onClick={() => void navigate({ search: {}, replace: true })}>
            Show all deliveries
          </Button>
        }
      >
        Search matches the beginning of IDs, event kinds, titles and names.
      </EmptyState>
    );
  }
  const [first] = webhook.events;
  return (
    <EmptyState title="No deliveries yet" example={exampleFor(first?.event ?? 'issue.created')}>
      Each subscribed event appears here with its request and response. To send an event:
    </EmptyState>
  );
}

function exampleFor(event: string): string {
  return `npx baton event send --event ${event} --sample`;
}
