import { Code, Group, Stack, Text } from '@mantine/core';
import { useEffect, useRef, type ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';

/** Shows a value that is shown only once: a key, a secret, a link. */
export function ShownOnce({ value, label, children }: { value: string; label: string; children: ReactNode }) {
  const part = useRef<HTMLDivElement>(null);
  // In a dialog, it replaces the form that had the focus.
  useEffect(() => {
    const isLost = document.activeElement === document.body && part.current?.closest('[role="dialog"]');
    if (isLost) part.current?.querySelector('button')?.focus();
  }, []);
  return (
    <Stack gap="xs" ref={part}>
      <Text size="sm">{children}</Text>
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <Code block flex={1} style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }} aria-label={label}>
          {value}
        </Code>
        <CopyButton value={value} />
      </Group>
    </Stack>
  );
}
