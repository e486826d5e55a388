import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { Status } from '../../../components/status.tsx';
import { RelativeTime } from '../../../components/time.tsx';
import { comingAttempts, outcomeText } from '../parts/attempt-text.ts';
import { plural } from '../parts/health.ts';
import type { Delivery } from '../parts/queries.ts';
import classes from './log.module.css';

/** One delivery in the log. Opens its details beside the list. */
export const DeliveryRow = memo(function DeliveryRow({
  delivery,
  isOpen,
}: {
  delivery: Delivery;
  isOpen: boolean;
}) {
  const { automatic, scheduled } = comingAttempts(delivery);
  return (
    <div
      role="listitem"
      className={classes['row']}
      data-open={isOpen || undefined}
      data-delivery={delivery.id}
      data-list-row
    >
      <span className={classes['status']}>
        <Status status={delivery.status} />
      </span>
      <Link
        from="/settings/integrations/webhooks/$webhookId"
        to="."
        search={(before) => ({ ...before, delivery: delivery.id })}
        replace={isOpen}
        resetScroll={false}
        className={classes['about']}
        title={delivery.about ?? delivery.event_id}
        aria-current={isOpen ? 'true' : undefined}
      >
        {delivery.about ?? delivery.event_id}
      </Link>
      <span className={classes['event']}>
        {delivery.event}
        {delivery.test ? ' · test' : ''}
      </span>
      <span className={classes['outcome']} title={delivery.reason ?? undefined}>
        {outcomeText(delivery)}
      </span>
      <span className={classes['tries']}>{attemptsText(delivery)}</span>
      <span className={classes['when']}>
        <RelativeTime at={delivery.created_at} />
        {automatic ? (
          <>
            {' · next '}
            <RelativeTime at={automatic} isAhead />
          </>
        ) : null}
        {scheduled ? (
          <>
            {' · scheduled '}
            <RelativeTime at={scheduled} isAhead />
          </>
        ) : null}
      </span>
    </div>
  );
});

/** Without the number of attempts in total: a recovery starts the schedule again, and manual attempts are additional. */
function attemptsText({ attempts_count: count }: Delivery): string {
  return count === 0 ? '' : plural(count, 'attempt');
}
