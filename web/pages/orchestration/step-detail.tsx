import { Stack, Text } from '@mantine/core';
import { Moment } from '../../components/time.tsx';
import type { StatusWord } from '../../components/tones.ts';
import type { Step } from './queries.ts';
import classes from './timeline.module.css';
import { usageText } from './words.ts';

/** Shows the error and the summary of a step. */
export function StepDetail({ step, status }: { step: Step; status: StatusWord }) {
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
    </Stack>
  );
}
