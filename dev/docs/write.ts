/** Returns the first lines of a generated page. `source`: what it is generated from. */
export function pageHead(title: string, source: string): string {
  return `# ${title}\n\n<!-- Generated from ${source} by \`node_modules/.bin/node dev/docs/main.ts\`. Manual changes are lost. -->\n`;
}

/** Returns a Markdown table. A cell may contain everything except line breaks. */
export function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(headings), `|${headings.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
