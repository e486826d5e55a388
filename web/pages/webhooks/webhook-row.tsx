import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ButtonLink } from '../../components/button-link.tsx';
import { statsQuery, type Stats, type Webhook } from './parts/queries.ts';
import { Sparkline } from './parts/sparkline.tsx';
import { HealthSummary } from './parts/health-summary.tsx';
import { kindsInShort, percent, plural, healthOf } from './parts/health.ts';
import classes from './list.module.css';

const RENEW_MS = 10_000;

/** A webhook in the list with its endpoint and health, and a link to its failures. */
export function WebhookRow({ webhook }: { webhook: Webhook }) {
  const { data: stats } = useQuery({ ...statsQuery(webhook.id), refetchInterval: RENEW_MS });
  const params = { webhookId: webhook.id };
  const health = healthOf(webhook);
  const isFiltered = webhook.events.some(({ filters }) => filters.length > 0);
  return (
    <li className={classes['row']} data-webhook={webhook.id} data-list-row>
      <Link to="/settings/integrations/webhooks/$webhookId" params={params} className={classes['name']}>
        {webhook.name}
      </Link>
      <span className={classes['url']} title={webhook.url}>
        {webhook.url}
      </span>
      <span className={classes['events']} title={webhook.events.map(({ event }) => event).join(', ')}>
        {kindsInShort(webhook)}
        {isFiltered ? <span className={classes['quiet']}> with filters</span> : null}
      </span>
      <Rate stats={stats} />
      <span className={classes['standing']}>
        <HealthSummary webhook={webhook} stats={stats} />
      </span>
      <span className={classes['action']}>
        {health === 'failing' || health === 'disabled' ? (
          <ButtonLink
            size="compact-sm"
            variant="light"
            to="/settings/integrations/webhooks/$webhookId"
            params={params}
            search={
              // The page of a disabled webhook begins with the reason.
              health === 'disabled'
                ? {}
                : {
                    status: ['retrying', 'failed'],
                    ...(stats?.last && { delivery: stats.last.delivery_id }),
                  }
            }
            aria-label={`Show failures of ${webhook.name}`}
          >
            Show failures
          </ButtonLink>
        ) : null}
      </span>
    </li>
  );
}

function Rate({ stats }: { stats: Stats | undefined }) {
  if (!stats) return <span className={classes['rate']} />;
  return (
    <span className={classes['rate']}>
      <Sparkline stats={stats} />
      <Text span size="sm" className={classes['figure']}>
        {stats.success_rate === null
          ? 'no attempts in 24 h'
          : `${percent(stats.success_rate)} of ${plural(stats.total, 'attempt')} succeeded (24 h)`}
      </Text>
    </span>
  );
}
