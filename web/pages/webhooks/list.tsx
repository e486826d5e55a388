import { Button, TextInput } from '@mantine/core';
import { IconPlus, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useSession } from '../../api/session.ts';
import { ButtonLink } from '../../components/button-link.tsx';
import { FilterMenu } from '../../components/filter-menu.tsx';
import { Page } from '../../components/page.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { EmptyState, ErrorState } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { webhooksQuery, type Webhook } from './parts/queries.ts';
import { STANDINGS, standingOf } from './parts/standing.ts';
import classes from './list.module.css';
import type { WebhookListSearch } from './search.ts';
import { WebhookRow } from './webhook-row.tsx';

const routeApi = getRouteApi('/signed-in/settings/integrations/webhooks');

const RENEW_MS = 10_000;
const AT_ONCE = 25;
const STATUSES = STANDINGS.map((value) => ({ value, title: <Status status={value} /> }));

/** All webhooks of the workspace, and how each is doing. */
export function WebhookList() {
  const search = routeApi.useSearch();
  const { may } = useSession();
  const webhooks = useQuery({ ...webhooksQuery, refetchInterval: RENEW_MS });
  const [shown, setShown] = useState(AT_ONCE);
  const all = webhooks.data ?? [];
  const fitting = all.filter((webhook) => fits(webhook, search));
  const make = may('webhooks:write') ? (
    <ButtonLink to="/settings/integrations/webhooks/new" leftSection={<IconPlus size={16} aria-hidden />}>
      Create webhook
    </ButtonLink>
  ) : null;
  return (
    <Page
      title="Webhooks"
      lead="Send workspace events to your endpoints as signed requests."
      actions={all.length > 0 ? make : null}
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
        <NoWebhooks make={make} />
      ) : (
        <>
          <ListFilters />
          {fitting.length === 0 ? <NoneFits /> : null}
          <ul className={classes['list']} aria-label="Webhooks">
            {fitting.slice(0, shown).map((webhook) => (
              <WebhookRow key={webhook.id} webhook={webhook} />
            ))}
          </ul>
          {fitting.length > shown ? (
            <Button variant="default" mt="md" onClick={() => setShown(shown + AT_ONCE)}>
              Show more: {shown} of {fitting.length}
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

function fits(webhook: Webhook, { text, status }: WebhookListSearch): boolean {
  if (status && !status.includes(standingOf(webhook))) return false;
  if (!text) return true;
  const words = [webhook.name, webhook.url, ...webhook.events.map(({ event }) => event)]
    .join(' ')
    .toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => words.includes(word));
}

function NoneFits() {
  return (
    <EmptyState
      title="No matching webhooks"
      action={
        <ButtonLink variant="default" to="/settings/integrations/webhooks" search={{}}>
          Show all webhooks
        </ButtonLink>
      }
    >
      The search covers names, URLs and events.
    </EmptyState>
  );
}

const EXAMPLE = `POST https://your-service.example/hooks
X-Service-Event: issue.created
X-Service-Signature: sha256=5f2b…
X-Service-Delivery: 0197d3c7-…

{ "event": "issue.created", "data": { "issue": { "key": "SHOP-142", … } } }`;

function NoWebhooks({ make }: { make: React.ReactNode }) {
  return (
    <EmptyState title="No webhooks yet" action={make} example={EXAMPLE}>
      A webhook sends a signed request like this one to your endpoint for each matching event. Baton retries
      failed requests and logs every attempt.
    </EmptyState>
  );
}
