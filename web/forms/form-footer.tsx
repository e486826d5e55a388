import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';

type FooterProps = { submitLabel: string; isSending: boolean; problem: string | null; children?: ReactNode };

/** The end of a form: errors that belong to no field, and the submit button. */
export function FormFooter({ submitLabel, isSending, problem, children }: FooterProps) {
  return (
    <>
      {problem ? (
        <Text role="alert" size="sm" c="var(--mantine-color-error)">
          {problem}
        </Text>
      ) : null}
      <Group justify={children ? 'space-between' : 'flex-end'}>
        {children}
        <Button type="submit" loading={isSending}>
          {submitLabel}
        </Button>
      </Group>
    </>
  );
}
