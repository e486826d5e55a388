import type { Command } from 'commander';
import { MAX_PAGE } from '../../src/domain/common/limits.ts';
import type { Api } from '../http.ts';
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

/** Returns all rows of a list, page by page. */
export async function listAll<T>(api: Api, path: string, query: Record<string, string>): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | undefined;
  do {
    const page: Page<T> = await api.call('GET', path, { query: { ...query, limit: MAX_PAGE, cursor } });
    rows.push(...page.data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}
