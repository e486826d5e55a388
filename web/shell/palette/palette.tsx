import { useDebouncedValue } from '@mantine/hooks';
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { MAX_SEARCH_LENGTH } from '../../../src/domain/common/limits.ts';
import { errorMessage } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { stepFrom } from './matching.ts';
import classes from './palette.module.css';
import { useEntries, type Entry } from './use-entries.ts';
import { Dialog } from '../../components/dialog.tsx';

const DEBOUNCE_MS = 200;

type PaletteProps = { onClose: () => void; onHelp: () => void };

/** Finds runs, webhooks, deliveries, pages and actions by their words. Enter opens the selected one. */
export function Palette({ onClose, onHelp }: PaletteProps) {
  const [typed, setTyped] = useState('');
  const [chosenKey, setChosenKey] = useState<string>();
  const [words] = useDebouncedValue(typed.trim(), DEBOUNCE_MS);
  const { groups, isSearching, error } = useEntries(typed, words, onHelp);
  const entries = groups.flatMap((group) => group.entries);
  const chosen = entries.find(({ key }) => key === chosenKey) ?? entries[0];
  const listId = useId();
  const idOf = (key: string) => `${listId}-${key}`;
  const act = (entry: Entry) => {
    onClose();
    entry.act();
  };
  const step = (by: -1 | 1) =>
    setChosenKey(
      stepFrom(
        entries.map(({ key }) => key),
        chosen?.key,
        by,
      ),
    );
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'ArrowDown') step(1);
    else if (event.key === 'ArrowUp') step(-1);
    else if (event.key === 'Enter' && chosen) act(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog
      opened
      onClose={onClose}
      title="Search everything"
      size="lg"
      padding={0}
      withCloseButton={false}
      classNames={{ header: 'visually-hidden' }}
    >
      <input
        data-autofocus
        className={classes['input']}
        role="combobox"
        aria-label="Search everything"
        aria-expanded={entries.length > 0}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={chosen && idOf(chosen.key)}
        placeholder="Runs, webhooks, deliveries, pages, actions…"
        maxLength={MAX_SEARCH_LENGTH}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setChosenKey(undefined);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={listId} role="listbox" aria-label="Results" className={classes['results']}>
        {groups.map(({ title, entries: members }) => (
          <div key={title} role="group" aria-label={title}>
            <div className={classes['heading']} aria-hidden>
              {title}
            </div>
            {members.map((entry) => (
              <Option
                key={entry.key}
                id={idOf(entry.key)}
                entry={entry}
                isChosen={entry === chosen}
                onChoose={() => act(entry)}
              />
            ))}
          </div>
        ))}
      </div>
      <div role="status" className={classes['note']}>
        {error
          ? errorMessage(error)
          : isSearching
            ? 'Searching…'
            : entries.length === 0
              ? `No results for “${typed.trim()}”`
              : null}
      </div>
    </Dialog>
  );
}

type OptionProps = { id: string; entry: Entry; isChosen: boolean; onChoose: () => void };

function Option({ id, entry, isChosen, onChoose }: OptionProps) {
  const option = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isChosen) option.current?.scrollIntoView({ block: 'nearest' });
  }, [isChosen]);
  return (
    // The field has the focus and handles the keys.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      ref={option}
      id={id}
      role="option"
      aria-selected={isChosen}
      className={classes['option']}
      onClick={onChoose}
    >
      <span className={classes['title']}>{entry.title}</span>
      {entry.detail ? <span className={classes['detail']}>{entry.detail}</span> : null}
      {entry.status ? <Status status={entry.status} /> : null}
    </div>
  );
}
