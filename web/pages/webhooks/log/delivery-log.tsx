import { Button, Group, Text, Title } from '@mantine/core';
import { hashKey, useInfiniteQuery, type InfiniteData } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { canUpdate } from '../../../api/connection-state.ts';
import { useConnection } from '../../../api/connection.ts';
import type { Paged } from '../../../api/pages.ts';
import { EmptyState, ErrorState } from '../../../components/states.tsx';
import { LoadMore } from '../../../components/load-more.tsx';
import { ListSkeleton } from '../../../components/page-states.tsx';
import { Dot } from '../../../components/status.tsx';
import { logQuery, type Delivery, type Webhook } from '../parts/queries.ts';
import { withChange, type LogSearch } from '../search.ts';
import { DeliveryPanel } from './delivery-panel.tsx';
import { DeliveryRows } from './delivery-rows.tsx';
import { eventAsCurl } from './example.ts';
import { LogFilters } from './log-filters.tsx';
import classes from './log.module.css';

const routeApi = getRouteApi('/signed-in/settings/integrations/webhooks/$webhookId');

/** While the channel is unavailable. */
const POLL_MS = 3_000;
/** Logs with more loaded pages are not polled, because their reader is reading older deliveries. */
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
  const { rows, isPollable } = log.data ?? NOTHING;
  const connection = useConnection();
  const open = (id: string | undefined) =>
    void navigate({
      search: (before) => withChange(before, { delivery: id }),
      replace: search.delivery !== undefined,
      resetScroll: false,
    });
  return (
    <section aria-label="Delivery log">
      <Group justify="space-between" mb="xs">
        <Title order={2}>Deliveries</Title>
        <Group gap="sm">
          <LiveIndicator
            updates={
              !canUpdate(connection, isLive) ? 'offline' : isLive ? 'live' : isPollable ? 'polled' : 'none'
            }
          />
          {onRecover ? (
            <Button variant="default" size="xs" onClick={onRecover}>
              Recover…
            </Button>
          ) : null}
        </Group>
      </Group>
      <LogFilters />
      {log.isPending ? (
        <ListSkeleton rows={8} height={60} />
      ) : log.isError && rows.length === 0 ? (
        <ErrorState
          title="The log could not be loaded"
          error={log.error}
          onRetry={() => void log.refetch()}
        />
      ) : rows.length === 0 ? (
        <EmptyLog search={search} webhook={webhook} />
      ) : (
        <DeliveryRows rows={rows} openId={search.delivery} />
      )}
      <LoadMore key={hashKey(logQuery(webhook.id, search).queryKey)} {...log} />
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

function useLog(webhookId: string, search: LogSearch, isLive: boolean) {
  return useInfiniteQuery({
    ...logQuery(webhookId, search),
    select: shownLog,
    placeholderData: (before) => before,
    refetchInterval: ({ state: { data } }) => (!isLive && canPoll(data?.pages) ? POLL_MS : false),
  });
}

const NOTHING = { rows: [], isPollable: true };

function shownLog({ pages }: InfiniteData<Paged<Delivery>>) {
  return { rows: pages.flatMap((page) => page.data), isPollable: canPoll(pages) };
}

function canPoll(pages: readonly unknown[] = []): boolean {
  return pages.length <= MAX_REFRESHED_PAGES;
}

/** Returns the delivery above or below the open one; the open one itself at the ends of the list. */
function neighbour(rows: readonly Delivery[], id: string | undefined, by: -1 | 1): string | undefined {
  const index = rows.findIndex((row) => row.id === id);
  return rows[index + by]?.id ?? id;
}

const INDICATORS = {
  live: { tone: 'moving', label: 'live', hint: 'Changes appear immediately' },
  polled: {
    tone: 'waiting',
    label: `updates every ${POLL_MS / 1_000} s`,
    hint: `Changes appear within ${POLL_MS / 1_000} seconds`,
  },
  none: { tone: 'off', label: 'not updated', hint: 'Reload the page to update the log' },
  offline: { tone: 'off', label: 'not updated', hint: 'There is no connection' },
} as const;

function LiveIndicator({ updates }: { updates: keyof typeof INDICATORS }) {
  const { tone, label, hint } = INDICATORS[updates];
  return (
    <Text span size="sm" c="dimmed" className={classes['live']} title={hint}>
      <Dot tone={tone} /> {label}
    </Text>
  );
}

function EmptyLog({ search, webhook }: { search: LogSearch; webhook: Webhook }) {
  const navigate = routeApi.useNavigate();
  if (search.status ?? search.event ?? search.span ?? search.text) {
    return (
      <EmptyState
        title="No matching deliveries"
        action={
          <Button variant="default" onClick={() => void navigate({ search: {}, replace: true })}>
            Show all deliveries
          </Button>
        }
      >
        Change or clear the filters.
        {search.text
          ? ' Search matches the beginnings of IDs, issue keys, event kinds, titles and names.'
          : null}
      </EmptyState>
    );
  }
  const [first] = webhook.events;
  return (
    <EmptyState
      title="No deliveries yet"
      example={eventAsCurl(location.origin, first?.event ?? 'issue.created')}
    >
      Each subscribed event appears here with its request and response. To send an event:
    </EmptyState>
  );
}
