import { Link } from '@tanstack/react-router';
import { Dot } from '../status.tsx';
import { RelativeTime } from '../time.tsx';
import classes from './bell.module.css';
import type { Notice } from './use-notices.ts';

/** One notification with a link to the affected page. */
export function NoticeRow({ notice, onGo }: { notice: Notice; onGo: () => void }) {
  const isUnread = notice.read_at === null;
  const { title, detail } = textOf(notice);
  const [, about, id] = /^(webhook|task):(.+)$/.exec(notice.subject) ?? [];
  const content = (
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
      {id === undefined ? (
        <div className={classes['notice']}>{content}</div>
      ) : about === 'task' ? (
        <Link
          to="/orchestration/$executionId"
          params={{ executionId: id }}
          className={classes['notice']}
          onClick={onGo}
        >
          {content}
        </Link>
      ) : (
        <Link
          to="/settings/integrations/webhooks/$webhookId"
          params={{ webhookId: id }}
          className={classes['notice']}
          onClick={onGo}
        >
          {content}
        </Link>
      )}
    </li>
  );
}

function textOf({ kind, detail: { name, title, reason } }: Notice): { title: string; detail: string } {
  const detail = typeof reason === 'string' ? reason : '';
  const named = (given: unknown, otherwise: string) => (typeof given === 'string' ? `“${given}”` : otherwise);
  if (kind === 'webhook.disabled') {
    return { title: `${named(name, 'A webhook')} was disabled after repeated failures`, detail };
  }
  if (kind === 'task.escalated') return { title: `${named(title, 'A task')} needs your decision`, detail };
  return { title: kind, detail };
}
