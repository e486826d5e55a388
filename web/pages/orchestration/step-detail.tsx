import { Stack, Text } from '@mantine/core';
import { formatUtc } from '../../format/time.ts';
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
        {[status, ...factsOf(step)].join(' · ')}
      </Text>
    </Stack>
  );
}

function factsOf(step: Step): string[] {
  const facts: string[] = [`agent ${step.agent}`];
  if (step.started_at) facts.push(`started ${formatUtc(step.started_at)}`);
  if (step.completed_at) facts.push(`ended ${formatUtc(step.completed_at)}`);
  if (step.usage) facts.push(usageText(step.usage));
  return facts;
}
