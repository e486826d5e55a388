import { readFileSync } from 'node:fs';
import { inCheckout } from '../common/paths.ts';
import { markdownTable, pageHead } from './write.ts';

const BLOCK = /^(?<selector>:root[^{]*) \{\n(?<body>[^}]*)\}/gm;
const LINE = /^ +(?:\/\* (?<meaning>.+) \*\/|(?<name>--[\w-]+): (?<value>[^;]+);)$/gm;

/** Renders every token of the screens with its values, from the style sheet and its comments. */
export function tokensPage(): string {
  const blocks = [...readFileSync(inCheckout('web', 'app', 'tokens.css'), 'utf8').matchAll(BLOCK)];
  const [all = [], dark = [], compact = []] = blocks.map(({ groups }) => tokensOf(groups?.['body'] ?? ''));
  const valueIn = (tokens: Token[], name: string) => {
    const found = tokens.find((token) => token.name === name);
    return found ? `\`${found.value}\`` : '';
  };
  const rows = all.map(({ name, value, meaning }) => [
    `\`${name}\``,
    meaning,
    `\`${value}\``,
    valueIn(dark, name),
    valueIn(compact, name),
  ]);
  return `${[
    pageHead('Design tokens of the screens', '`web/app/tokens.css`'),
    'The style sheets of the screens use these variables, and those of [Mantine](https://mantine.dev/styles/css-variables-list/)',
    'for sizes, spacing and radii. `web/app/theme.ts` sets the accent colour and the fonts. A cell is empty if the value is the same.',
    '',
    markdownTable(['token', 'meaning', 'value', 'dark theme', 'compact rows'], rows),
  ].join('\n')}\n`;
}

type Token = { name: string; value: string; meaning: string };

/** Returns the tokens of a block. The comment above a token is its meaning. */
function tokensOf(body: string): Token[] {
  let last = '';
  return [...body.matchAll(LINE)].flatMap(({ groups: { meaning, name, value } = {} }) => {
    if (meaning !== undefined) last = meaning;
    return name !== undefined && value !== undefined ? [{ name, value, meaning: last }] : [];
  });
}
