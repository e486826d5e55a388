import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import type { EventKind } from '../../../src/domain/webhooks/event-kinds.ts';
import { useSession } from '../../api/session.ts';
import { Id } from '../../components/id.tsx';
import { Page } from '../../components/page.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { ErrorState } from '../../components/states.tsx';
import { DeleteWebhook } from './actions/delete-webhook.tsx';
import { Recover } from './actions/recover.tsx';
import { RepairBanner } from './actions/repair-banner.tsx';
import { RotateSecret } from './actions/rotate-secret.tsx';
import { DayChart } from './parts/day-chart.tsx';
import { filterSentence } from './form/words.ts';
import { useWebhookRoom } from './parts/live.ts';
import { statsQuery, webhookQuery, type Stats, type Webhook } from './parts/queries.ts';
import { SavedSecret } from './parts/saved-secret.tsx';
import { HealthSummary } from './parts/health-summary.tsx';
import { TestPanel } from './test/test-panel.tsx';
import { withChange } from './search.ts';
import { DeliveryLog } from './log/delivery-log.tsx';
import { WebhookActions, type OpenDialog } from './webhook-actions.tsx';
import classes from './webhook.module.css';

const EventDialog = lazy(async () => ({ default: (await import('./event-dialog.tsx')).EventDialog }));

const routeApi = getRouteApi('/signed-in/settings/integrations/webhooks/$webhookId');

const POLL_MS = 4_000;
/** The hourly statistics change slowly. The channel reports changes of deliveries. */
const STATS_MS = 15_000;

/** The page of a webhook: health, repair, last day and log. */
export function WebhookPage() {
  const { webhookId } = routeApi.useParams();
  const isLive = useWebhookRoom(webhookId);
  const webhook = useQuery({ ...webhookQuery(webhookId), refetchInterval: POLL_MS });
  const stats = useQuery({ ...statsQuery(webhookId), refetchInterval: isLive ? STATS_MS : POLL_MS });
  if (webhook.data) {
    return <WebhookParts key={webhookId} webhook={webhook.data} stats={stats.data} isLive={isLive} />;
  }
  if (webhook.isError) {
    return (
      <ErrorState
        title="The webhook could not be loaded"
        error={webhook.error}
        onRetry={() => void webhook.refetch()}
      />
    );
  }
  return (
    <Page title="Webhook" wide>
      <ListSkeleton />
    </Page>
  );
}

type PartsProps = { webhook: Webhook; stats: Stats | undefined; isLive: boolean };

function WebhookParts({ webhook, stats, isLive }: PartsProps) {
  const { test } = routeApi.useSearch();
  const navigate = routeApi.useNavigate();
  const { hasScope } = useSession();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const canChange = hasScope('webhooks:write');
  const showTest = (shown: boolean) =>
    void navigate({
      search: (before) => withChange(before, { test: shown ? 'yes' : undefined }),
      replace: true,
    });
  const close = () => setDialog(null);
  return (
    <Page
      title={webhook.name}
      lead={<HealthSummary webhook={webhook} stats={stats} brief />}
      actions={
        canChange ? (
          <WebhookActions webhook={webhook} onTest={() => showTest(true)} onOpen={setDialog} />
        ) : null
      }
      wide
    >
      <WebhookDetails webhook={webhook} />
      <Stack gap="md">
        <SavedSecret webhookId={webhook.id} />
        <RepairBanner
          webhook={webhook}
          stats={stats}
          canChange={canChange}
          onTest={() => showTest(true)}
          onRecover={() => setDialog('recover')}
        />
        {test && canChange ? <TestPanel webhook={webhook} onClose={() => showTest(false)} /> : null}
        {stats ? <DayChart stats={stats} /> : <ListSkeleton rows={1} height={190} />}
        <DeliveryLog
          webhook={webhook}
          isLive={isLive}
          onRecover={canChange ? () => setDialog('recover') : null}
        />
      </Stack>
      {canChange ? (
        <>
          <RotateSecret webhook={webhook} opened={dialog === 'rotate'} onClose={close} />
          <Recover webhook={webhook} opened={dialog === 'recover'} onClose={close} />
          <DeleteWebhook webhook={webhook} stats={stats} opened={dialog === 'delete'} onClose={close} />
        </>
      ) : null}
    </Page>
  );
}

/** Shows the URL, the events and the signing of a webhook. */
function WebhookDetails({ webhook }: { webhook: Webhook }) {
  const [shown, setShown] = useState<EventKind | null>(null);
  return (
    <Group gap="xs" mb="md" className={classes['facts']}>
      {webhook.description === null ? null : (
        <Text size="sm" className={classes['description'] ?? ''}>
          {webhook.description}
        </Text>
      )}
      <code className={classes['url']}>{webhook.url}</code>
      <Id value={webhook.id} label="webhook ID" />
      <Text span size="sm" c="dimmed">
        {signingText(webhook)}
      </Text>
      <ul className={classes['events']} aria-label="Events">
        {webhook.events.map(({ event, filters }) => (
          <li key={event}>
            <button
              type="button"
              className={classes['event']}
              aria-haspopup="dialog"
              title="Show sample and schema"
              onClick={() => setShown(event)}
            >
              <code>{event}</code>
            </button>
            {filters.length > 0 ? ` if ${filters.map(filterSentence).join(' and ')}` : null}
          </li>
        ))}
      </ul>
      <Suspense>{shown ? <EventDialog event={shown} onClose={() => setShown(null)} /> : null}</Suspense>
    </Group>
  );
}

function signingText({
  has_secret,
  include_secret_header,
  standard_webhooks,
  previous_secret_until,
}: Webhook) {
  if (!has_secret) return 'not signed';
  return [
    'signed',
    ...(standard_webhooks ? ['with Standard Webhooks headers'] : []),
    ...(include_secret_header ? ['the secret is sent in a header'] : []),
    ...(previous_secret_until ? ['also signed with the old secret'] : []),
  ].join(' · ');
}
