import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { sentenceOf } from './states.tsx';

type ConfirmProps = {
  opened: boolean;
  onClose: () => void;
  /** Names what it is about: `Delete “Billing sync”?`. */
  title: string;
  /** What is lost or sent, exactly. */
  children: ReactNode;
  /** What the button says: the act itself, never “OK”. */
  act: string;
  onAct: () => void;
  /** The label of the button that closes the dialog. */
  cancelLabel?: string;
  /** Whether the button is red. */
  destroys?: boolean;
  pending?: boolean;
  error?: unknown;
};

/** Asks once before something is destroyed or sent. */
export function Confirm(props: ConfirmProps) {
  const { opened, onClose, title, children, act, onAct, destroys = false, pending = false, error } = props;
  const { cancelLabel = 'Cancel' } = props;
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="md">
        {typeof children === 'string' ? <Text>{children}</Text> : children}
        {error ? (
          <Text role="alert" size="sm" c="var(--mantine-color-error)">
            {sentenceOf(error)}
          </Text>
        ) : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} data-autofocus={destroys || undefined}>
            {cancelLabel}
          </Button>
          <Button color={destroys ? 'red.8' : 'brand'} onClick={onAct} loading={pending}>
            {act}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
