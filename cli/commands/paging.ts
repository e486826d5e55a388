import type { Command } from 'commander';
import type { Page } from '../shapes.ts';

export type Paging = { limit?: string; cursor?: string };

/** The options of every list that comes in pages. */
export function addPaging(command: Command): Command {
  return command
    .option('--limit <n>', 'rows, 1 to 200')
    .option('--cursor <cursor>', 'next_cursor of the previous page');
}

/** How to get the next page, below a list; empty on the last one. */
export function moreLine({ next_cursor }: Page<unknown>): string {
  return next_cursor === null ? '' : `\n\nMore: --cursor ${next_cursor}`;
}
