import type { ReactNode } from 'react';
import classes from './data-table.module.css';

type TableProps = {
  /** The accessible name. */
  label: string;
  columns: readonly string[];
  children: ReactNode;
};

/** A plain table. It scrolls if it is wider than the screen. */
export function DataTable({ label, columns, children }: TableProps) {
  return (
    // A scrollable region must be reachable without a mouse.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={classes['frame']} role="region" aria-label={label} tabIndex={0}>
      <table className={classes['table']}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column.startsWith('(') ? (
                  <span className="visually-hidden">{column.slice(1, -1)}</span>
                ) : (
                  column
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
