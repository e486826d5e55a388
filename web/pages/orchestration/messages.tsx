import { Text } from '@mantine/core';
import type { FeedEvent } from '../../../src/domain/tasks/feed-events.ts';
import { Moment } from '../../components/time.tsx';
import type { Run } from './queries.ts';
import classes from './run-view.module.css';
import { errorTitle } from './words.ts';

/** Shows the messages of agents, oldest first. */
export function Messages({ messages }: { messages: readonly FeedEvent[] }) {
  return (
    <ul className={classes['lines']} aria-live="polite">
      {messages.map(({ seq, at, data }) => {
        const step = data['step'] as { name: string; agent: string } | undefined;
        return (
          <li key={seq}>
            <Moment at={at} isClock />
            <span>
              <strong>{step?.agent ?? 'agent'}</strong> in {step?.name}: {data['text'] as string}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

/** Shows the errors that were not recovered. */
export function Errors({ errors }: { errors: Run['errors'] }) {
  if (errors.length === 0) return <Text c="dimmed">No errors</Text>;
  return (
    <ul className={classes['lines']}>
      {errors.map((error) => (
        <li key={`${error.at}${error.code}${error.step ?? ''}`}>
          <Moment at={error.at} isClock />
          <span>
            <strong>{errorTitle(error.code)}</strong> <code>{error.code}</code>
            {error.step ? ` in ${error.step}` : ''}
            {error.agent ? ` (${error.agent})` : ''}: {error.message}
          </span>
        </li>
      ))}
    </ul>
  );
}
