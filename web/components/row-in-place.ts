import { useEffect, useLayoutEffect, useRef, useState } from 'react';

/**
 * Keeps the row of an open object where it was on the screen when its panel opens and closes, since the list beside the
 * panel is narrower and higher. Keeps the row visible when another one is opened. `row` is its selector.
 */
export function useRowInPlace(row: string): void {
  // Measured before the panel is in the document.
  const [topBefore] = useState(() => topOf(row));
  const now = useRef(row);
  useEffect(() => {
    now.current = row;
  });
  useLayoutEffect(() => {
    moveBack(now.current, topBefore);
    return () => {
      const top = topOf(now.current);
      // The panel is still in the document.
      queueMicrotask(() => moveBack(now.current, top));
    };
  }, [topBefore]);
  useLayoutEffect(() => {
    find(row)?.scrollIntoView({ block: 'nearest' });
  }, [row]);
}

/** Returns the link of a row, which opens the object. */
export function linkIn(row: string): HTMLElement | null {
  return find(row)?.querySelector('a') ?? null;
}

function find(row: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(row);
}

function topOf(row: string): number | null {
  return find(row)?.getBoundingClientRect().top ?? null;
}

function moveBack(row: string, before: number | null): void {
  const top = topOf(row);
  if (top !== null && before !== null) scrollBy({ top: top - before, behavior: 'instant' });
}
