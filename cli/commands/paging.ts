import type { Command } from 'commander';
import type { Page } from '../shapes.ts';

export type Paging = { limit?: string; cursor?: string };

/** The options of paged lists. */
export function addPaging(command: Command): Command {
  return command
    .option('--limit <n>', 'rows, 1 to 200')
    .option('--cursor <cursor>', 'next_cursor of the previous page');
}

/** Returns the hint for the next page; empty on the last page. */
export function moreLine({ next_cursor }: Page<unknown>): string {
  return next_cursor === null ? '' : `\n\nMore: --cursor ${next_cursor}`;
}
