import { Modal, type ModalProps } from '@mantine/core';
import { useEffect, useState } from 'react';

/** The element that opened the dialog, or the dialog before it. */
let opener: Element | null = null;

type DialogProps = ModalProps & {
  /** Whether a request is pending, whose result would be lost: the dialog cannot be closed. */
  isPending?: boolean;
};

/** A dialog. When it closes, the focus returns to the element that opened it, or to the page if that element is gone. */
export function Dialog({ isPending = false, onClose, ...props }: DialogProps) {
  useFocusReturn(props.opened);
  return (
    <Modal
      closeButtonProps={{ 'aria-label': 'Close', disabled: isPending }}
      onClose={() => {
        if (!isPending) onClose();
      }}
      {...props}
    />
  );
}

/** The library returns the focus from a dialog that closes, but not from one that is removed while it is open. */
function useFocusReturn(opened: boolean): void {
  const [focused] = useState(() => document.activeElement);
  useEffect(() => {
    if (!opened) return undefined;
    if (focused !== document.body && !focused?.closest('[role="dialog"]')) opener = focused;
    return () => void setTimeout(returnFocus);
  }, [opened, focused]);
}

function returnFocus(): void {
  if (document.activeElement !== document.body || document.querySelector('[role="dialog"]')) return;
  const target = opener?.isConnected ? opener : document.querySelector('main');
  if (target instanceof HTMLElement) target.focus({ preventScroll: true });
}
