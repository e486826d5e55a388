import { ActionIcon } from '@mantine/core';
import { lazy, Suspense, useEffect, useState } from 'react';
import { IconSearch } from '../components/icons.tsx';
import { useKeys } from '../components/keys.ts';
import { focusListSearch, moveInList } from './list-keys.ts';

const Palette = lazy(async () => ({ default: (await import('./palette/palette.tsx')).Palette }));
const ShortcutHelp = lazy(async () => ({ default: (await import('./shortcut-help.tsx')).ShortcutHelp }));

/** The shortcuts of all pages, and the button that opens the palette. Both dialogs are loaded when they are opened. */
export function Shortcuts() {
  const [opened, setOpened] = useState<'palette' | 'help' | null>(null);
  const close = () => setOpened(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      if (event.altKey || event.shiftKey || event.defaultPrevented) return;
      event.preventDefault(); // browsers focus their address bar
      setOpened((before) => (before === 'palette' ? null : hasDialog() ? before : 'palette'));
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  useKeys({
    j: () => moveInList(1),
    k: () => moveInList(-1),
    '/': () => {
      if (!focusListSearch()) setOpened('palette');
    },
    '?': () => setOpened('help'),
  });
  return (
    <>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label="Search everything"
        aria-keyshortcuts="Control+K Meta+K"
        title="Search everything (Ctrl+K)"
        onClick={() => setOpened('palette')}
      >
        <IconSearch size={18} aria-hidden />
      </ActionIcon>
      <Suspense>
        {opened === 'palette' ? <Palette onClose={close} onHelp={() => setOpened('help')} /> : null}
        {opened === 'help' ? <ShortcutHelp onClose={close} /> : null}
      </Suspense>
    </>
  );
}

/** Returns whether a dialog is open, which may contain a form. */
function hasDialog(): boolean {
  return document.querySelector('[role="dialog"][aria-modal="true"]') !== null;
}
