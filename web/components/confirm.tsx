import { Button, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { ErrorText } from './states.tsx';
import { Dialog } from './dialog.tsx';

type ConfirmProps = {
  opened: boolean;
  onClose: () => void;
  /** Names the object: `Delete “Billing sync”?`. */
  title: string;
  /** Names exactly what is deleted or sent. */
  children: ReactNode;
  /** The label of the confirming button: the action, never “OK”. */
  confirmLabel: string;
  onConfirm: () => void;
  /** The label of the button that closes the dialog. */
  cancelLabel?: string;
  /** Whether the button is red. */
  isDestructive?: boolean;
  /** Whether the button cannot be clicked yet. */
  isLoading?: boolean;
  isPending?: boolean;
  error?: unknown;
};

/** Asks for confirmation before something is deleted or sent. */
export function Confirm(props: ConfirmProps) {
  const {
    opened,
    onClose,
    title,
    children,
    confirmLabel,
    onConfirm,
    isDestructive = false,
    isLoading = false,
    isPending = false,
    error,
  } = props;
  const { cancelLabel = 'Cancel' } = props;
  return (
    <Dialog opened={opened} onClose={onClose} title={title} isPending={isPending} centered>
      <Stack gap="md">
        {typeof children === 'string' ? <Text>{children}</Text> : children}
        <ErrorText error={error} />
        <Group justify="flex-end" gap="xs">
          <Button
            variant="default"
            onClick={onClose}
            disabled={isPending}
            data-autofocus={isDestructive || undefined}
          >
            {cancelLabel}
          </Button>
          <Button
            color={isDestructive ? 'red.8' : 'brand'}
            onClick={onConfirm}
            loading={isPending || isLoading}
          >
            {confirmLabel}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
