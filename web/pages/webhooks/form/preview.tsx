import { Skeleton, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { EVENT_KINDS } from '../../../../src/domain/webhooks/event-kinds.ts';
import { sampleData } from '../../../../src/domain/webhooks/event-samples.ts';
import { matchEvent } from '../../../../src/domain/webhooks/matching.ts';
import type { Subscription } from '../../../../src/domain/webhooks/webhook.ts';
import { unwrap, api, type Schemas } from '../../../api/client.ts';
import { Panel } from '../../../components/panel.tsx';
import { Waiting } from '../../../components/waiting.tsx';
import { errorMessage } from '../../../components/states.tsx';
import { Dot } from '../../../components/status.tsx';
import { RelativeTime } from '../../../components/time.tsx';
import classes from './form.module.css';

type Verdict = Pick<Schemas['FilterPreview']['data'][number], 'event' | 'verdict' | 'reason' | 'about'> & {
  id: string;
  at: string | null;
};

const DEBOUNCE_MS = 200;

/** Shows which of the last 20 events would be sent, and why the others would not. Updates with the form. */
export function Preview({ events }: { events: readonly Subscription[] }) {
  const [settled] = useDebouncedValue(events, DEBOUNCE_MS);
  const isEmpty = settled.length === 0;
  const preview = useQuery({
    queryKey: ['preview', settled],
    async queryFn({ signal }): Promise<Verdict[]> {
      const body = { events: (isEmpty ? [{ event: EVENT_KINDS[0] }] : settled) as Subscription[] };
      const { data } = await unwrap(api.POST('/api/v1/webhooks/preview', { body, signal }));
      return data.map(({ event_id, timestamp, ...one }) => ({
        ...one,
        ...(isEmpty ? { verdict: 'unsubscribed', reason: null } : {}),
        id: event_id,
        at: timestamp,
      }));
    },
    placeholderData: keepPreviousData,
  });
  const isSample = preview.data?.length === 0;
  const verdicts = isSample ? samplesJudged(settled) : (preview.data ?? []);
  return (
    <Panel title="Preview">
      {preview.isPending ? (
        <Waiting>
          <Stack gap="xs">
            {[0, 1, 2, 3].map((row) => (
              <Skeleton key={row} height={36} />
            ))}
          </Stack>
        </Waiting>
      ) : preview.isError ? (
        <Text size="sm" role="alert">
          {errorMessage(preview.error)}
        </Text>
      ) : (
        <>
          <Text size="sm" aria-live="polite">
            {summary(verdicts, isSample)}
          </Text>
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a list that scrolls must be reachable */}
          <ul className={classes['verdicts']} tabIndex={0} aria-label="Recent events">
            {verdicts.map((verdict) => (
              <VerdictRow key={verdict.id} verdict={verdict} />
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

function summary(verdicts: readonly Verdict[], isSample: boolean): string {
  const sent = verdicts.filter(({ verdict }) => verdict === 'send').length;
  const total = verdicts.length;
  if (isSample) return `No events yet. This webhook would receive ${sent} of the ${total} sample events.`;
  if (total === 1) return `This webhook would ${sent === 1 ? '' : 'not '}receive the last event.`;
  return `This webhook would receive ${sent} of the last ${total} events.`;
}

function samplesJudged(events: readonly Subscription[]): Verdict[] {
  return EVENT_KINDS.map((event) => {
    const { match, reason } = matchEvent(events, { event, data: sampleData(event) });
    return { id: event, event, at: null, about: null, verdict: match, reason };
  });
}

const VERDICT_LABELS = {
  send: 'would be sent',
  skip: 'would not be sent',
  unsubscribed: 'not subscribed',
} as const;

function VerdictRow({ verdict: { event, at, about, verdict, reason } }: { verdict: Verdict }) {
  return (
    <li className={classes['verdict']} data-verdict={verdict}>
      <span className={classes['verdict-mark']}>
        <Dot tone={verdict === 'send' ? 'done' : 'off'} />
      </span>
      <code>{event}</code>
      <span className={classes['when-seen']}>{at ? <RelativeTime at={at} /> : 'sample'}</span>
      {about ? (
        <span className={classes['about']} title={about}>
          {about}
        </span>
      ) : null}
      <span className={classes['reason']}>
        {VERDICT_LABELS[verdict]}
        {reason ? `: ${reason}` : null}
      </span>
    </li>
  );
}
