import { ActionIcon, Button } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { IconCheck, IconCopy } from './icons.tsx';

type CopyProps = { value: string; label?: string; iconOnly?: boolean };

const COPIED_MS = 1_500;

/** Copies a text and confirms it. */
export function CopyButton({ value, label = 'Copy', iconOnly = false }: CopyProps) {
  const { copy, copied } = useClipboard({ timeout: COPIED_MS });
  const icon = copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />;
  const text = copied ? 'Copied' : label;
  return iconOnly ? (
    <ActionIcon variant="subtle" color="gray" onClick={() => copy(value)} aria-label={text} title={text}>
      {icon}
    </ActionIcon>
  ) : (
    <Button variant="default" size="xs" leftSection={icon} onClick={() => copy(value)}>
      <span aria-live="polite">{text}</span>
    </Button>
  );
}
