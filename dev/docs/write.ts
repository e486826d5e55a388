/** The first lines of a page that is made from code. `source` is what it follows from. */
export function pageHead(title: string, source: string): string {
  return `# ${title}\n\n<!-- Made by \`node_modules/.bin/node dev/docs/main.ts\` from ${source}: change that, not this page. -->\n`;
}

/** A Markdown table; a cell may contain anything but line ends. */
export function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(headings), `|${headings.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
