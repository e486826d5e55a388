import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';

type FootProps = { act: string; isSending: boolean; problem: string | null; children?: ReactNode };

/** The end of a form: what no field can say, and the button that names the act. */
export function FormFoot({ act, isSending, problem, children }: FootProps) {
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
          {act}
        </Button>
      </Group>
    </>
  );
}
