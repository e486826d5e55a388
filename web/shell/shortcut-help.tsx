import { Checkbox, Stack } from '@mantine/core';
import { useState } from 'react';
import { hasLetterKeys, setLetterKeys } from '../components/keys.ts';
import classes from './shortcut-help.module.css';
import { Dialog } from '../components/dialog.tsx';

const SHORTCUTS: readonly (readonly [what: string, ...keys: string[]])[] = [
  ['Search everything', 'Ctrl K'],
  ['Search this list', '/'],
  ['Next, previous row', 'j', 'k'],
  ['Open the row', 'Enter'],
  ['Next, previous row while one is open', '↓', '↑'],
  ['Close the open row', 'Esc'],
  ['Save a webhook', 'Ctrl Enter'],
  ['Keyboard shortcuts', '?'],
];

/** Lists the keyboard shortcuts, and turns single-key shortcuts on and off. */
export function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const [isOn, setIsOn] = useState(hasLetterKeys);
  return (
    <Dialog opened onClose={onClose} title="Keyboard shortcuts">
      <Stack gap="md">
        <dl className={classes['list']}>
          {SHORTCUTS.map(([what, ...keys]) => (
            <div key={what} className={classes['shortcut']}>
              <dt>{what}</dt>
              <dd>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dd>
            </div>
          ))}
        </dl>
        <Checkbox
          label="Single-key shortcuts"
          description="Turn them off if you use speech input. Saved in this browser."
          checked={isOn}
          onChange={({ currentTarget: { checked } }) => {
            setLetterKeys(checked);
            setIsOn(checked);
          }}
        />
      </Stack>
    </Dialog>
  );
}
