import type { CSSProperties, ReactNode } from 'react';
import classes from './data-table.module.css';

type TableProps = {
  /** The accessible name. */
  label: string;
  columns: readonly string[];
  children: ReactNode;
};

/** A plain table. On a phone, each row is a card with the names of the columns. Between, a wide table scrolls. */
export function DataTable({ label, columns, children }: TableProps) {
  return (
    // A scrollable region must be reachable without a mouse.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={classes['frame']} role="region" aria-label={label} tabIndex={0}>
      <table className={classes['table']} style={columnNames(columns)}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {isHidden(column) ? <span className="visually-hidden">{column.slice(1, -1)}</span> : column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** Columns in brackets have no visible name. */
function isHidden(column: string): boolean {
  return column.startsWith('(');
}

/** Returns the names of the columns as variables for the style sheet, which shows them in cards. */
function columnNames(columns: readonly string[]): CSSProperties {
  return Object.fromEntries(
    columns.flatMap((column, index) =>
      isHidden(column) ? [] : [[`--column-${index + 1}`, JSON.stringify(column)]],
    ),
  );
}
