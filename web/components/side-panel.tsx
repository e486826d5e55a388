import { ActionIcon, Group, Title } from '@mantine/core';
import { Link, type LinkProps } from '@tanstack/react-router';
import { useEffect, useRef, type ReactNode } from 'react';
import { IconArrowsDiagonal, IconX } from './icons.tsx';
import { useKeys } from './keys.ts';
import { linkIn, useRowInPlace } from './row-in-place.ts';
import classes from './side-panel.module.css';

type SidePanelProps = {
  title: ReactNode;
  /** The accessible name. */
  label: string;
  /** Selects the row of the object in the list. */
  row: string;
  onClose: () => void;
  /** Called with -1 or 1 by these keys, to move through the list. */
  onStep?: (by: -1 | 1) => void;
  /** The full page of the same object. */
  page?: { to: NonNullable<LinkProps['to']>; params: Record<string, string> };
  children: ReactNode;
};

/**
 * Shows details beside a list, which stays usable. Escape closes the panel, the arrow keys, j and k move through the list.
 * The panel takes the focus when it opens. When it closes, the focus returns to the row of the object, which keeps its place.
 */
export function SidePanel({ title, label, row, onClose, onStep, page, children }: SidePanelProps) {
  const panel = useRef<HTMLElement>(null);
  useRowInPlace(row);
  useFocusWhileOpen(panel, row);
  const [up, down] = [() => onStep?.(-1), () => onStep?.(1)];
  useKeys({ Escape: onClose, ArrowUp: up, k: up, ArrowDown: down, j: down });
  return (
    <aside ref={panel} data-side-panel className={classes['panel']} aria-label={label} tabIndex={-1}>
      <Group className={classes['head']} justify="space-between" wrap="nowrap" gap="xs">
        <Title order={2} className={classes['title']}>
          {title}
        </Title>
        <Group gap={4} wrap="nowrap">
          {page ? (
            <ActionIcon
              component={Link}
              {...(page as object)}
              variant="subtle"
              color="gray"
              aria-label="Open full page"
              title="Open full page"
            >
              <IconArrowsDiagonal size={18} aria-hidden />
            </ActionIcon>
          ) : null}
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label="Close"
            title="Close (Escape)"
            onClick={onClose}
          >
            <IconX size={18} aria-hidden />
          </ActionIcon>
        </Group>
      </Group>
      <div className={classes['body']}>{children}</div>
    </aside>
  );
}

function useFocusWhileOpen(panel: React.RefObject<HTMLElement | null>, row: string): void {
  const now = useRef(row);
  useEffect(() => {
    now.current = row;
  });
  useEffect(() => {
    const before = document.activeElement;
    panel.current?.focus({ preventScroll: true });
    return () => {
      const next = linkIn(now.current) ?? before;
      if (next instanceof HTMLElement && next.isConnected) next.focus({ preventScroll: true });
    };
  }, [panel]);
}
