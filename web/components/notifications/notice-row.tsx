import { Link } from '@tanstack/react-router';
import { Dot } from '../status.tsx';
import { RelativeTime } from '../time.tsx';
import classes from './bell.module.css';
import type { Notice } from './use-notices.ts';

/** What happened, and the way to where it can be mended. */
export function NoticeRow({ notice, onGo }: { notice: Notice; onGo: () => void }) {
  const isUnread = notice.read_at === null;
  const { title, detail } = wordsOf(notice);
  const webhookId = /^webhook:(.+)$/.exec(notice.subject)?.[1];
  const words = (
    <>
      <span className={classes['mark']}>{isUnread ? <Dot tone="moving" /> : null}</span>
      <span className={classes['title']} data-unread={isUnread || undefined}>
        {isUnread ? <span className="visually-hidden">New: </span> : null}
        {title}
      </span>
      {detail ? <span className={classes['detail']}>{detail}</span> : null}
      <span className={classes['detail']}>
        <RelativeTime at={notice.created_at} />
      </span>
    </>
  );
  return (
    <li>
      {webhookId === undefined ? (
        <div className={classes['notice']}>{words}</div>
      ) : (
        <Link
          to="/settings/integrations/webhooks/$webhookId"
          params={{ webhookId }}
          className={classes['notice']}
          onClick={onGo}
        >
          {words}
        </Link>
      )}
    </li>
  );
}

function wordsOf({ kind, detail: { name, reason } }: Notice): { title: string; detail: string } {
  const detail = typeof reason === 'string' ? reason : '';
  const named = typeof name === 'string' ? `“${name}”` : 'A webhook';
  return kind === 'webhook.disabled'
    ? { title: `${named} was disabled: it failed too often`, detail }
    : { title: kind, detail };
}
