import { FAILURES_TO_DISABLE } from '../../../../src/domain/common/limits.ts';
import { Status } from '../../../components/status.tsx';
import { Duration, RelativeTime } from '../../../components/time.tsx';
import { lastFailure } from './attempt-text.ts';
import type { Stats, Webhook } from './queries.ts';
import { plural, healthOf } from './health.ts';

type HealthProps = {
  webhook: Webhook;
  stats: Stats | undefined;
  /** Omits what a banner on the same page shows. */
  brief?: boolean;
};

/** Shows the health of a webhook in one line: `failing: 7 failures in a row (disabled after 10) · next retry in 4 min`. */
export function HealthSummary({ webhook, stats, brief = false }: HealthProps) {
  const health = healthOf(webhook);
  if (webhook.listening) {
    return (
      <>
        <Status status="executing">listening</Status> · temporary webhook, created by{' '}
        <code>baton listen</code>
      </>
    );
  }
  switch (health) {
    case 'active':
      return (
        <>
          <Status status={lastFailure(stats) === null ? 'active' : 'failing'}>active</Status> ·{' '}
          <LastDelivery stats={stats} />
        </>
      );
    case 'failing':
      return (
        <>
          <Status status="failing" />: {plural(webhook.consecutive_failures, 'failure')} in a row (disabled
          after {FAILURES_TO_DISABLE})
          {stats?.next_attempt_at ? (
            <>
              {' '}
              · next retry <RelativeTime at={stats.next_attempt_at} isAhead />
            </>
          ) : null}
        </>
      );
    case 'disabled':
      return (
        <>
          <Status status="disabled" />{' '}
          {webhook.disabled_at ? <RelativeTime at={webhook.disabled_at} /> : null}
          {webhook.disabled_reason && !brief ? `: ${webhook.disabled_reason}` : null}
          {stats && stats.held > 0 && !brief
            ? ` · ${plural(stats.held, 'delivery', 'deliveries')} held`
            : null}
        </>
      );
    case 'inactive':
      return (
        <>
          <Status status="inactive" />
          {brief ? null : ' · new events are skipped'}
        </>
      );
  }
}

function LastDelivery({ stats }: { stats: Stats | undefined }) {
  if (!stats) return 'loading…';
  if (stats.last_delivery_at === null) return 'no deliveries yet';
  const took = stats.last?.response_ms ?? null;
  const failure = lastFailure(stats);
  return (
    <>
      last delivery {failure === null ? '' : `failed (${failure}) `}
      <RelativeTime at={stats.last_delivery_at} />
      {took === null ? null : (
        <>
          {' '}
          · <Duration ms={took} />
        </>
      )}
    </>
  );
}
