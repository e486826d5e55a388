/** Text that may stand in a page as it is. */
export type Html = { html: string };

/**
 * A piece of a page. What is put in is text and is escaped, unless it is a piece or a list of pieces itself; null and
 * false are left out.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { html: parts.map((part, index) => part + htmlOf(values[index])).join('') };
}

type Value = string | number | Html | readonly Html[] | null | undefined | false;

function htmlOf(value: Value): string {
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value));
  return 'html' in value ? value.html : value.map((one) => one.html).join('');
}

/** Text with `code` in backticks, as descriptions are written. */
export function prose(text: string): Html {
  const pieces = text
    .split('`')
    .map((piece, index) => (index % 2 === 0 ? html`${piece}` : html`<code>${piece}</code>`));
  return html`${pieces}`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
