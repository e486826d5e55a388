import { useDebouncedCallback } from '@mantine/hooks';
import { useState } from 'react';
import { MAX_SEARCH_LENGTH } from '../../src/domain/common/limits.ts';
import { IconSearch } from './icons.tsx';
import classes from './search-field.module.css';

const DEBOUNCE_MS = 250;

type SearchProps = {
  /** The accessible name: what is searched. */
  label: string;
  placeholder: string;
  /** The text in the address. */
  text: string;
  onChange: (text: string) => void;
  className?: string | undefined;
};

/**
 * The search of a list, which the key `/` focuses. Updates the address after a delay, since typing is faster than
 * searching.
 */
export function SearchField({ label, placeholder, text, onChange, className }: SearchProps) {
  const [typed, setTyped] = useState(text);
  const [sent, setSent] = useState(text);
  const [before, setBefore] = useState(text);
  const search = useDebouncedCallback((words: string) => {
    setSent(words);
    onChange(words);
  }, DEBOUNCE_MS);
  if (text !== before) {
    setBefore(text);
    // A link or a button changed the address. Otherwise, more may have been typed in the meantime.
    if (text !== sent) {
      setSent(text);
      setTyped(text);
    }
  }
  return (
    <div className={`${classes['field']} ${className ?? ''}`}>
      <IconSearch size={16} aria-hidden className={classes['icon']} />
      <input
        data-list-search
        className={`plain-select ${classes['input']}`}
        aria-label={label}
        placeholder={placeholder}
        maxLength={MAX_SEARCH_LENGTH}
        value={typed}
        onChange={({ currentTarget: { value } }) => {
          setTyped(value);
          search(value.trim());
        }}
      />
    </div>
  );
}
