import { readFileSync } from 'node:fs';
import { isMap, isScalar, parseDocument, stringify, type YAMLMap } from 'yaml';
import { inCheckout } from '../common/paths.ts';
import { markdownTable } from './write.ts';

const BEGIN = '<!-- values: generated from `values.yaml` by `node_modules/.bin/node dev/docs/main.ts` -->';
const END = '<!-- end of values -->';

/** Longer defaults are only in the file. */
const MAX_LENGTH = 80;

/** A documented value of the chart. `fallback`: its default as YAML on one line, `…` if it is long; null for a group of values. */
export type ChartValue = { path: string; fallback: string | null; meaning: string };

/** Returns the README of the chart, with the current table of its values. */
export function chartPage(): string {
  const page = readFileSync(inCheckout('deploy', 'chart', 'README.md'), 'utf8');
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error('The README of the chart lacks the marks of its table.');
  const rows = chartValues(readFileSync(inCheckout('deploy', 'chart', 'values.yaml'), 'utf8'));
  const table = markdownTable(
    ['value', 'default', 'meaning'],
    rows.map(({ path, fallback, meaning }) => [
      fallback === null ? `**\`${path}\`**` : `\`${path}\``,
      fallback === null ? '' : `\`${fallback}\``,
      meaning,
    ]),
  );
  return `${before}${BEGIN}\n\n${table}\n\n${END}${after}`;
}

/**
 * Returns all values in their order, with the comments above them.
 * @throws Error that names a value without a comment
 */
export function chartValues(text: string): ChartValue[] {
  const { contents } = parseDocument(text);
  if (!isMap(contents)) throw new Error('values.yaml is not a map');
  return valuesIn(contents, '', undefined);
}

function valuesIn(map: YAMLMap, prefix: string, before: string | undefined): ChartValue[] {
  return map.items.flatMap(({ key, value }, index): ChartValue[] => {
    if (!isScalar(key)) throw new Error('A key of values.yaml is not a text.');
    const path = `${prefix}${String(key.value)}`;
    // The parser attaches a comment above the first key to the map.
    const meaning = textOf(key.commentBefore ?? (index === 0 ? before : undefined));
    if (isMap(value) && isGroup(value)) {
      const rows = valuesIn(value, `${path}.`, value.commentBefore ?? undefined);
      return meaning === '' ? rows : [{ path, fallback: null, meaning }, ...rows];
    }
    if (meaning === '') throw new Error(`values.yaml: ${path} has no comment`);
    const plain: unknown = value === null ? null : JSON.parse(JSON.stringify(value));
    return [{ path, fallback: onOneLine(plain), meaning }];
  });
}

/** Returns whether the members of a map have comments of their own. Otherwise the map is one value. */
function isGroup(map: YAMLMap): boolean {
  const isCommented = ({ key, value }: YAMLMap['items'][number]) =>
    (isScalar(key) && Boolean(key.commentBefore)) || (isMap(value) && isGroup(value));
  return map.items.length > 0 && (Boolean(map.commentBefore) || map.items.some(isCommented));
}

/** Returns the last paragraph of a comment: the first one of the file describes the file. */
function textOf(comment: string | null | undefined): string {
  const lines = (comment ?? '').split('\n').map((line) => line.trim());
  return lines.slice(lines.lastIndexOf('') + 1).join(' ');
}

function onOneLine(value: unknown): string {
  const text = stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
  return text.length > MAX_LENGTH ? '…' : text;
}
