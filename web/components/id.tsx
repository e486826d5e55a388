import { useClipboard } from '@mantine/hooks';
import classes from './id.module.css';

const MAX_SHOWN_LENGTH = 16;
const COPIED_MS = 1_500;

/** An id, shortened in the middle. The tooltip shows all of it, a click copies it. */
export function Id({ value, label = 'ID' }: { value: string; label?: string }) {
  const { copy, copied } = useClipboard({ timeout: COPIED_MS });
  const shown = value.length > MAX_SHOWN_LENGTH ? `${value.slice(0, 8)}…${value.slice(-6)}` : value;
  return (
    <button type="button" className={classes['id']} title={value} onClick={() => copy(value)}>
      <span className="visually-hidden">Copy {label} </span>
      <span aria-live="polite">{copied ? 'copied' : shown}</span>
    </button>
  );
}
