import { useEffect, useRef, type RefObject } from 'react';

/** Returns a reference to the field that gets the focus when it appears, if `isFirst`. */
export function useFocus<Field extends HTMLElement>(isFirst = true): RefObject<Field | null> {
  const field = useRef<Field>(null);
  useEffect(() => {
    if (isFirst) field.current?.focus();
  }, [isFirst]);
  return field;
}
