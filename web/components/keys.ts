import { useEffect, useRef } from 'react';

const SETTING = 'baton-letter-keys';

/** Returns whether single-key shortcuts work. They can be turned off, since speech input types letters. */
export function hasLetterKeys(): boolean {
  return localStorage.getItem(SETTING) !== 'off';
}

/** Turns single-key shortcuts on or off in this browser. */
export function setLetterKeys(isOn: boolean): void {
  if (isOn) localStorage.removeItem(SETTING);
  else localStorage.setItem(SETTING, 'off');
}

/**
 * Handles keys unless they are typed into a field or belong to an open dialog or menu. A handler that returns false leaves
 * the key to others.
 */
export function useKeys(keys: Readonly<Record<string, () => unknown>>): void {
  const now = useRef(keys);
  useEffect(() => {
    now.current = keys;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const act = now.current[event.key];
      if (!act || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
      if (isBusy(event) || (event.key.length === 1 && !hasLetterKeys())) return;
      if (act() !== false) event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

const FIELDS = 'input:not([type="checkbox"]), textarea, select, [contenteditable]';
/** What has keys of its own, but not Escape. */
const MOVABLE = '[role="tab"], [role="region"]';

function isBusy({ target, key }: KeyboardEvent): boolean {
  if (document.querySelector('[role="dialog"], [role="menu"], [role="listbox"]')) return true;
  const selector = key === 'Escape' ? FIELDS : `${FIELDS}, ${MOVABLE}`;
  return target instanceof Element && target.closest(selector) !== null;
}
