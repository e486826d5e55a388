import { Button, Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useRef, useState, type ReactNode } from 'react';
import { useSession } from '../../api/session.ts';
import { Dot } from '../status.tsx';
import { RelativeTime } from '../time.tsx';
import classes from './bell.module.css';
import { isUnread, noticeText, runsDetail, runsTitle, type BellRow, type Notice } from './notice-text.ts';

const AnswerNotice = lazy(async () => ({ default: (await import('./answer-notice.tsx')).AnswerNotice }));

/** One notification with a link to the affected page. A question of a run can be answered in it. */
export function NoticeRow({
  notice,
  onGo,
  onRead,
}: {
  notice: Notice;
  onGo: () => void;
  onRead: () => void;
}) {
  const { hasScope } = useSession();
  const [isAnswering, setIsAnswering] = useState(false);
  const link = useRef<HTMLAnchorElement>(null);
  const [, about, id] = /^(webhook|task):(.+)$/.exec(notice.subject) ?? [];
  const question = notice.kind === 'task.asked' && notice.open ? notice.detail['question_id'] : null;
  const onAnswered = () => {
    onRead();
    // The form disappears, and the focus with it.
    link.current?.focus();
  };
  const content = (
    <Content {...noticeText(notice)} isUnread={isUnread(notice)}>
      <RelativeTime at={notice.created_at} />
    </Content>
  );
  if (id === undefined) return <li className={classes['notice']}>{content}</li>;
  if (about === 'webhook') {
    return (
      <li>
        <Link
          to="/settings/integrations/webhooks/$webhookId"
          params={{ webhookId: id }}
          className={classes['notice']}
          onClick={onGo}
        >
          {content}
        </Link>
      </li>
    );
  }
  return (
    <li>
      <Link
        ref={link}
        to="/orchestration/$executionId"
        params={{ executionId: id }}
        className={classes['notice']}
        onClick={onGo}
      >
        {content}
      </Link>
      {typeof question === 'string' && hasScope('tasks:write') ? (
        <div className={classes['answer']}>
          {isAnswering ? (
            <Suspense fallback={<Skeleton height={96} />}>
              <AnswerNotice executionId={id} question={question} onDone={onAnswered} />
            </Suspense>
          ) : (
            <Button variant="default" size="compact-sm" onClick={() => setIsAnswering(true)}>
              Answer
            </Button>
          )}
        </div>
      ) : null}
    </li>
  );
}

type RunsProps = { runs: Extract<BellRow, { kind: 'runs' }>; hasMore: boolean; onGo: () => void };

/** Says how many runs need a person, with a link to them. */
export function RunsRow({ runs, hasMore, onGo }: RunsProps) {
  return (
    <li>
      <Link to="/orchestration" search={{ needs: 'me' }} className={classes['notice']} onClick={onGo}>
        <Content title={runsTitle(runs, hasMore)} detail={runsDetail(runs)} isUnread={runs.isUnread} />
      </Link>
    </li>
  );
}

type ContentProps = { title: string; detail: string; isUnread: boolean; children?: ReactNode };

function Content({ title, detail, isUnread: isNew, children }: ContentProps) {
  return (
    <>
      <span className={classes['mark']}>{isNew ? <Dot tone="moving" /> : null}</span>
      <span className={classes['title']} data-unread={isNew || undefined}>
        {isNew ? <span className="visually-hidden">New: </span> : null}
        {title}
      </span>
      {detail ? <span className={classes['detail']}>{detail}</span> : null}
      {children ? <span className={classes['detail']}>{children}</span> : null}
    </>
  );
}
