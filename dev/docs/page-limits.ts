import { readFileSync } from 'node:fs';
import * as limits from '../../src/domain/common/limits.ts';
import { inCheckout } from '../common/paths.ts';
import { markdownTable, pageHead } from './write.ts';

const VALUES = new Map(Object.entries(limits));
const CONSTANT = /^export const ([A-Z0-9_]+) = /;
const COMMENT = /^\/\*\* (.+) \*\/$/;

/** Renders every limit with its value, from the constants and the comments above them. */
export function limitsPage(): string {
  return `${[
    pageHead('Limits', '`src/domain/common/limits.ts`'),
    'For configurable limits, see [configuration](../configuration.md). For the limits of one part of the service, see',
    '[HTTP API](../http-api.md#limits), [live channel](../channel.md#limits) and [agents](../agents.md).',
    '',
    markdownTable(
      ['limit', 'value', 'in the code'],
      rowsOf(readFileSync(inCheckout('src', 'domain', 'common', 'limits.ts'), 'utf8')),
    ),
  ].join('\n')}\n`;
}

/** Returns one row for each comment, which may describe several constants. */
function rowsOf(source: string): string[][] {
  const rows: { sentence: string; names: string[] }[] = [];
  for (const line of source.split('\n')) {
    const sentence = COMMENT.exec(line)?.[1];
    const name = CONSTANT.exec(line)?.[1];
    if (sentence !== undefined) rows.push({ sentence, names: [] });
    if (name !== undefined) rows.at(-1)?.names.push(name);
  }
  return rows
    .filter(({ names }) => names.length > 0)
    .map(({ sentence, names }) => [
      // References to other pages are only for readers of the code.
      sentence.replace(/\s*\(docs\/[^)]*\)/, ''),
      names.map((name) => formatValue(VALUES.get(name))).join('; '),
      names.map((name) => `\`${name}\``).join(', '),
    ]);
}

function formatValue(value: (typeof limits)[keyof typeof limits] | undefined): string {
  if (typeof value === 'number') return value.toLocaleString('en-US');
  return Object.entries(value ?? {})
    .map(([name, number]) => `${name}: ${number.toLocaleString('en-US')}`)
    .join(', ');
}
