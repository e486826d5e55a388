import { lastDataAt, useConnection } from '../api/connection.ts';
import { Dot } from '../components/status.tsx';
import { RelativeTime } from '../components/time.tsx';
import classes from './connection-banner.module.css';

/** Says that the page is not up to date while there is no connection, and how old its data is. */
export function ConnectionBanner() {
  const state = useConnection();
  const at = lastDataAt();
  return (
    <div role="status" aria-label="Connection">
      {state === 'connected' ? null : (
        <div className={classes['banner']}>
          <Dot tone="held" />
          <span className={classes['text']}>
            <strong>{state === 'offline' ? 'You are offline' : 'Cannot reach the server'}</strong>
            {at === null ? null : (
              <>
                <span className={classes['separator']}> · </span>
                <span>
                  last update <RelativeTime at={new Date(at).toISOString()} />
                </span>
              </>
            )}
          </span>
        </div>
      )}
    </div>
  );
}
