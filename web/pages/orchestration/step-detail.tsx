import { Button, Stack, Text } from '@mantine/core';
import { Duration, Moment } from '../../components/time.tsx';
import type { StatusWord } from '../../components/tones.ts';
import type { Step } from './queries.ts';
import type { Attempt } from './timeline-model.ts';
import classes from './timeline.module.css';
import { usageText } from './words.ts';

type StepDetailProps = {
  step: Step;
  status: StatusWord;
  attempts: readonly Attempt[];
  /** Enlarges the step on the time axis; null if it is large enough. */
  onZoom: (() => void) | null;
};

/** Shows the error, the summary and the attempts of a step. */
export function StepDetail({ step, status, attempts, onZoom }: StepDetailProps) {
  return (
    <Stack gap={4} className={classes['detail']}>
      {step.error ? (
        <Text size="sm" c="var(--tone-failed)">
          {step.error.message}
          {step.attempt > 1 ? ` (after ${step.attempt} attempts)` : ''}
        </Text>
      ) : null}
      {step.summary ? <Text size="sm">{step.summary}</Text> : null}
      <Text size="xs" c="dimmed">
        {status} · agent {step.agent}
        {step.started_at ? (
          <>
            {' '}
            · started <Moment at={step.started_at} />
          </>
        ) : null}
        {step.completed_at ? (
          <>
            {' '}
            · ended <Moment at={step.completed_at} />
          </>
        ) : null}
        {step.usage ? ` · ${usageText(step.usage)}` : ''}
      </Text>
      {attempts.length > 1 ? (
        <ul className={classes['attempts']} aria-label={`Attempts of ${step.name}`}>
          {attempts.map(({ number, outcome, from, to }) => (
            <li key={number}>
              attempt {number} · {outcome} · <Moment at={new Date(from).toISOString()} isClock />
              {to === null ? null : (
                <>
                  {' '}
                  · <Duration ms={to - from} />
                </>
              )}
            </li>
          ))}
        </ul>
      ) : null}
      {onZoom ? (
        <Button variant="default" size="compact-xs" w="max-content" onClick={onZoom}>
          Zoom to this step
        </Button>
      ) : null}
    </Stack>
  );
}
