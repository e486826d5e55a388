import { Button, Text } from '@mantine/core';
import { useState } from 'react';
import type { CallbackTrigger } from '../../../src/domain/tasks/callback.ts';
import type { FeedEvent } from '../../../src/domain/tasks/feed-events.ts';
import { Moment } from '../../components/time.tsx';
import { formatDuration } from '../../format/time.ts';
import classes from './run-view.module.css';
import { stateChangeText } from './words.ts';

const INITIAL_LINES = 100;

/** Shows the events of the feed, newest first. */
export function EventLines({ events }: { events: readonly FeedEvent[] }) {
  const [shown, setShown] = useState(INITIAL_LINES);
  return (
    <>
      <ul className={classes['lines']}>
        {events
          .slice(-shown)
          .toReversed()
          .map((event) => (
            <li key={event.seq}>
              <Moment at={event.at} isClock />
              <span>
                <Text span size="xs" c="dimmed" className={classes['seq'] ?? ''}>
                  {event.seq}
                </Text>
                <strong>{event.type}</strong> {describeEvent(event)}
              </span>
            </li>
          ))}
      </ul>
      {events.length > shown ? (
        <Button variant="default" size="xs" mt="sm" onClick={() => setShown(shown + INITIAL_LINES * 5)}>
          Show earlier ({events.length - shown} more)
        </Button>
      ) : null}
    </>
  );
}

type Data = {
  reason?: string;
  step?: { name: string; attempt: number };
  percent?: number;
  text?: string;
  summary?: string | null;
  duration_ms?: number | null;
  error?: { message: string };
  retry_in_ms?: number | null;
  attempt?: number;
  trigger?: CallbackTrigger;
  outcome?: string;
  response_status?: number | null;
  message?: string | null;
  state?: string;
};

/** Returns an event as one line of text. */
function describeEvent({ type, data: given }: FeedEvent): string {
  const data = given as Data;
  const step = data.step
    ? `${data.step.name}${data.step.attempt > 1 ? `, attempt ${data.step.attempt}` : ''}`
    : '';
  switch (type) {
    case 'state.changed':
      return stateChangeText(given);
    case 'step.started':
      return step;
    case 'step.progress':
      return `${step}: ${[data.percent === undefined ? null : `${data.percent}%`, data.text].filter(Boolean).join(', ')}`;
    case 'step.completed':
      return `${step}${took(data)}`;
    case 'step.failed': {
      const next =
        data.retry_in_ms == null ? 'no more attempts' : `next attempt in ${formatDuration(data.retry_in_ms)}`;
      return `${step}: ${data.error?.message ?? ''} (${next})`;
    }
    case 'agent.message':
      return `${step}: ${data.text ?? ''}`;
    case 'escalation.requested':
      return `${step}: ${data.reason ?? ''}`;
    case 'callback.attempted': {
      const status = data.outcome === 'succeeded' ? '' : 'status ';
      const how = data.response_status ? `${status}${data.response_status}` : (data.message ?? '');
      return `${data.trigger === 'manual' ? 'manual ' : ''}attempt ${data.attempt} ${data.outcome}: ${how}`;
    }
    case 'run.ended':
      return `${data.state}${took(data)}`;
  }
}

function took({ duration_ms }: Data): string {
  return duration_ms == null ? '' : `, ${formatDuration(duration_ms)}`;
}
