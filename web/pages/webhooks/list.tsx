import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useSession } from '../../api/session.ts';
import { ButtonLink } from '../../components/button-link.tsx';
import { FilterMenu } from '../../components/filter-menu.tsx';
import { IconPlus, IconSearch } from '../../components/icons.tsx';
import { Page } from '../../components/page.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { EmptyState, ErrorState } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { webhooksQuery, type Webhook } from '../../api/webhooks.ts';
import { HEALTH_STATES, healthOf } from './parts/health.ts';
import classes from './list.module.css';
import type { WebhookListSearch } from './search.ts';
import { WebhookRow } from './webhook-row.tsx';

const routeApi = getRouteApi('/signed-in/settings/integrations/webhooks');

const RENEW_MS = 10_000;
const PAGE_SIZE = 25;
const STATUSES = HEALTH_STATES.map((value) => ({ value, title: <Status status={value} /> }));

/** The list of all webhooks with their health. */
export function WebhookList() {
  const search = routeApi.useSearch();
  const { hasScope } = useSession();
  const webhooks = useQuery({ ...webhooksQuery, refetchInterval: RENEW_MS });
  const [shown, setShown] = useState(PAGE_SIZE);
  const all = webhooks.data ?? [];
  const matching = all.filter((webhook) => matches(webhook, search));
  const createButton = hasScope('webhooks:write') ? (
    <ButtonLink to="/settings/integrations/webhooks/new" leftSection={<IconPlus size={16} aria-hidden />}>
      Create webhook
    </ButtonLink>
  ) : null;
  return (
    <Page
      title="Webhooks"
      lead="Send workspace events to your endpoints as signed requests."
      actions={all.length > 0 ? createButton : null}
    >
      {webhooks.isPending ? (
        <ListSkeleton height={84} rows={4} />
      ) : webhooks.isError && all.length === 0 ? (
        <ErrorState
          title="The webhooks could not be loaded"
          error={webhooks.error}
          onRetry={() => void webhooks.refetch()}
        />
      ) : all.length === 0 ? (
        <NoWebhooks createButton={createButton} />
      ) : (
        <>
          <ListFilters />
          {matching.length === 0 ? <NoMatches /> : null}
          <ul className={classes['list']} aria-label="Webhooks">
            {matching.slice(0, shown).map((webhook) => (
              <WebhookRow key={webhook.id} webhook={webhook} />
            ))}
          </ul>
          {matching.length > shown ? (
            <Button variant="default" mt="md" onClick={() => setShown(shown + PAGE_SIZE)}>
              Show more ({shown} of {matching.length})
            </Button>
          ) : null}
        </>
      )}
    </Page>
  );
}

function ListFilters() {
  const { text = '', status = [] } = routeApi.useSearch();
  const navigate = routeApi.useNavigate();
  const change = (members: { text?: string; status?: WebhookListSearch['status'] }) =>
    void navigate({
      search: (before) => {
        const { text: words, status: chosen } = { ...before, ...members };
        return { ...(words && { text: words }), ...(chosen && chosen.length > 0 && { status: chosen }) };
      },
      replace: true,
    });
  return (
    <div className={classes['filters']}>
      <TextInput
        data-list-search
        aria-label="Search by name, URL or event"
        placeholder="Search"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={text}
        onChange={(event) => change({ text: event.currentTarget.value })}
      />
      <FilterMenu
        label="Status"
        options={STATUSES}
        chosen={status}
        onChange={(chosen) => change({ status: chosen })}
      />
    </div>
  );
}

function matches(webhook: Webhook, { text, status }: WebhookListSearch): boolean {
  if (status && !status.includes(healthOf(webhook))) return false;
  if (!text) return true;
  const words = [webhook.name, webhook.url, ...webhook.events.map(({ event }) => event)]
    .join(' ')
    .toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => words.includes(word));
}

function NoMatches() {
  const { text } = routeApi.useSearch();
  return (
    <EmptyState
      title="No matching webhooks"
      action={
        <ButtonLink variant="default" to="/settings/integrations/webhooks" search={{}}>
          Show all webhooks
        </ButtonLink>
      }
    >
      Change or clear the filters.{text ? ' Search covers names, URLs and events.' : null}
    </EmptyState>
  );
}

const EXAMPLE = `POST https://your-service.example/hooks
X-Service-Event: issue.created
X-Service-Signature: sha256=5f2b…
X-Service-Delivery: 0197d3c7-…

{ "event": "issue.created", "data": { "issue": { "key": "SHOP-142", … } } }`;

function NoWebhooks({ createButton }: { createButton: React.ReactNode }) {
  return (
    <EmptyState title="No webhooks yet" action={createButton} example={EXAMPLE}>
      For each matching event, a webhook sends a signed request like this to your endpoint. Baton retries
      failed requests and logs every attempt.
    </EmptyState>
  );
}
