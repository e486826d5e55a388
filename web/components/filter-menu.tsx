import { Button, Checkbox, Popover, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { IconChevronDown } from './icons.tsx';

type FilterProps<T extends string> = {
  /** The name of the filter, in one word. */
  label: string;
  options: readonly { value: T; title: ReactNode }[];
  chosen: readonly T[];
  onChange: (chosen: T[]) => void;
};

/** A filter whose button shows the selected values. */
export function FilterMenu<T extends string>({ label, options, chosen, onChange }: FilterProps<T>) {
  const [first, ...more] = chosen;
  const shown = options.find(({ value }) => value === first)?.title;
  const name = typeof shown === 'string' ? shown : first;
  const text = name === undefined ? label : `${label}: ${name}${more.length > 0 ? ` +${more.length}` : ''}`;
  return (
    <Popover position="bottom-start" shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <Button
          variant={first === undefined ? 'default' : 'light'}
          size="sm"
          px="xs"
          rightSection={<IconChevronDown size={14} aria-hidden />}
        >
          {text}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={`Filter by ${label}`}>
        <Checkbox.Group
          value={[...chosen]}
          onChange={onChange}
          label={label}
          labelProps={{ className: 'visually-hidden' }}
        >
          <Stack gap="xs">
            {options.map(({ value, title }) => (
              <Checkbox key={value} value={value} label={title} />
            ))}
          </Stack>
        </Checkbox.Group>
      </Popover.Dropdown>
    </Popover>
  );
}
