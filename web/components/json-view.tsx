import { Box, Button, Group } from '@mantine/core';
import { memo, useState, type ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';
import classes from './json-view.module.css';

/** Levels that are expanded initially, unless a view sets another number. */
const EXPANDED_LEVELS = 2;
/** Longer lists and objects are collapsed initially at every level. */
const MAX_EXPANDED_ROWS = 40;
/** Rows of an expanded list or object that are shown at first, and with each click on its button. */
const ROWS_AT_ONCE = 100;

type JsonProps = {
  value: unknown;
  /** The text to copy, if it came from outside and must stay unchanged. */
  raw?: string;
  label?: string;
  /** Levels that are expanded initially. */
  levels?: number;
};

/** Shows JSON with colours and collapsible levels. It can be large, so it is rendered again only if it changes. */
export const JsonView = memo(({ value, raw, label = 'JSON', levels = EXPANDED_LEVELS }: JsonProps) => {
  return (
    <Box className={classes['view']}>
      <Group className={classes['copy']}>
        <CopyButton iconOnly value={raw ?? JSON.stringify(value, null, 2)} label={`Copy ${label}`} />
      </Group>
      {/* A region that scrolls must be reachable without a mouse. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className={classes['text']} tabIndex={0} role="region" aria-label={label}>
        <Value value={value} level={EXPANDED_LEVELS - levels} />
      </div>
    </Box>
  );
});

/** Shows a text, formatted if it is JSON. It is parsed again only if it changes. */
export const BodyView = memo(({ text, label }: { text: string; label?: string }) => {
  const parsed = parse(text);
  return parsed === undefined ? (
    <Box className={classes['view']}>
      <Group className={classes['copy']}>
        <CopyButton iconOnly value={text} label={`Copy ${label ?? 'text'}`} />
      </Group>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className={classes['text']} tabIndex={0} role="region" aria-label={label ?? 'Text'}>
        {text}
      </pre>
    </Box>
  ) : (
    <JsonView value={parsed} raw={text} {...(label ? { label } : {})} />
  );
});

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

type ValueProps = { value: unknown; level: number; name?: string | null };

function Value({ value, level, name = null }: ValueProps): ReactNode {
  if (Array.isArray(value)) {
    const rows = value.map((inner, index) => [null, inner, String(index)] as const);
    const what = plural(value.length, 'item', 'items');
    return <Fold name={name} rows={rows} level={level} brackets="[]" what={what} />;
  }
  if (value !== null && typeof value === 'object') {
    const rows = Object.entries(value).map(([field, inner]) => [field, inner, field] as const);
    const what = plural(rows.length, 'field', 'fields');
    return <Fold name={name} rows={rows} level={level} brackets="{}" what={what} />;
  }
  return (
    <>
      <Key name={name} />
      <span className={classes[`is-${kindOf(value)}`]}>{JSON.stringify(value)}</span>
    </>
  );
}

function kindOf(value: unknown): 'text' | 'number' | 'word' {
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? 'number' : 'word';
}

function Key({ name }: { name: string | null }): ReactNode {
  return name === null ? null : <span className={classes['is-key']}>{JSON.stringify(name)}: </span>;
}

type FoldProps = {
  name: string | null;
  rows: readonly (readonly [string | null, unknown, string])[];
  level: number;
  brackets: string;
  what: string;
};

/** A list or an object. Its rows are rendered when it is expanded for the first time. */
function Fold({ name, rows, level, brackets, what }: FoldProps) {
  const [open = '', close = ''] = brackets;
  const isExpanded = level < EXPANDED_LEVELS && rows.length <= MAX_EXPANDED_ROWS;
  const [wasExpanded, setWasExpanded] = useState(isExpanded);
  if (rows.length === 0) {
    return (
      <>
        <Key name={name} />
        {brackets}
      </>
    );
  }
  return (
    <details
      className={classes['fold']}
      open={isExpanded}
      onToggle={({ currentTarget }) => setWasExpanded((before) => before || currentTarget.open)}
    >
      <summary>
        <Key name={name} />
        {open}
        <span className={classes['count']}> {what} </span>
        <span className={classes['closed']}>{close}</span>
      </summary>
      {wasExpanded ? <Rows rows={rows} level={level + 1} /> : null}
      {close}
    </details>
  );
}

function Rows({ rows, level }: Pick<FoldProps, 'rows' | 'level'>) {
  const [count, setCount] = useState(ROWS_AT_ONCE);
  const left = rows.length - count;
  return (
    <div className={classes['rows']}>
      {rows.slice(0, count).map(([field, inner, key]) => (
        <div key={key}>
          <Value name={field} value={inner} level={level} />
        </div>
      ))}
      {left > 0 ? (
        <Button size="compact-xs" variant="default" my={4} onClick={() => setCount(count + ROWS_AT_ONCE)}>
          Show more ({left} left)
        </Button>
      ) : null}
    </div>
  );
}

function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
