import { Button, Code, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { ApiProblem, Unreachable } from '../api/problem.ts';
import { CopyButton } from './copy-button.tsx';

type EmptyProps = {
  title: string;
  /** One sentence that teaches. */
  children: ReactNode;
  /** One button. */
  action?: ReactNode;
  /** One example to copy. */
  example?: string;
};

/** Where there is nothing yet. */
export function EmptyState({ title, children, action, example }: EmptyProps) {
  return (
    <Stack align="center" gap="sm" py={48} px="md" ta="center">
      <Title order={2}>{title}</Title>
      <Text c="dimmed" maw={520}>
        {children}
      </Text>
      {action}
      {example ? (
        <Stack gap={4} maw="100%" align="flex-end">
          <Code block ta="left" maw="100%" tabIndex={0}>
            {example}
          </Code>
          <CopyButton value={example} label="Copy example" />
        </Stack>
      ) : null}
    </Stack>
  );
}

type ErrorProps = {
  error: unknown;
  /** What could not be done, as a title: "The runs could not be loaded". */
  title: string;
  /** The way on, as a rule to try again. */
  onRetry?: () => void;
  /** 1 where nothing else heads the page. */
  order?: 1 | 2;
  children?: ReactNode;
};

/** What happened, what it means for the person, and what to do. */
export function ErrorState({ error, title, onRetry, order = 2, children }: ErrorProps) {
  return (
    <Stack align="center" gap="sm" py={48} px="md" ta="center" role="alert">
      <Title order={order}>{title}</Title>
      <Text c="dimmed" maw={560}>
        {errorMessage(error)}
      </Text>
      {onRetry ? (
        <Button variant="default" onClick={onRetry}>
          Try again
        </Button>
      ) : null}
      {children}
    </Stack>
  );
}

/** An error in words for people, with what support would ask for. */
export function errorMessage(error: unknown): string {
  if (error instanceof ApiProblem) {
    const suffix = error.status >= 500 && error.requestId ? ` (request ${error.requestId})` : '';
    return `${error.message}${suffix}`;
  }
  if (error instanceof Unreachable) return error.message;
  return 'Something went wrong on this page. Reload it and try again.';
}
