import { Button, Code, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { ApiProblem, Unreachable } from '../api/problem.ts';
import { CopyButton } from './copy-button.tsx';

type EmptyProps = {
  title: string;
  /** One explaining sentence. */
  children: ReactNode;
  /** One button. */
  action?: ReactNode;
  /** One example to copy. */
  example?: string;
};

/** The empty state of a list. */
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
          <Code block ta="left" maw="100%" tabIndex={0} bd="1px solid var(--line)">
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
  /** What failed, as a title: "The runs could not be loaded". */
  title: string;
  /** Tries again; without it there is no button. */
  onRetry?: () => void;
  /** 1 if the page has no other heading. */
  order?: 1 | 2;
  children?: ReactNode;
};

/** Shows what failed, why, and what to do. */
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

/** Shows an error beside the button whose action failed. Shows nothing without one. */
export function ErrorText({ error }: { error: unknown }) {
  if (!error) return null;
  return (
    <Text role="alert" size="sm" c="var(--mantine-color-error)">
      {errorMessage(error)}
    </Text>
  );
}

/** Returns a readable error message, with the request id for internal errors. */
export function errorMessage(error: unknown): string {
  if (error instanceof ApiProblem) {
    const suffix = error.status >= 500 && error.requestId ? ` (request ${error.requestId})` : '';
    return `${error.message}${suffix}`;
  }
  if (error instanceof Unreachable) return error.message;
  return 'Something went wrong on this page. Reload it and try again.';
}
