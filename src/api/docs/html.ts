/** HTML that needs no escaping. */
export type Html = { html: string };

/** Builds HTML. Inserted text is escaped, inserted HTML and lists of HTML are not. Null and false are omitted. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { html: parts.map((part, index) => part + htmlOf(values[index])).join('') };
}

type Value = string | number | Html | readonly Html[] | null | undefined | false;

function htmlOf(value: Value): string {
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value));
  return 'html' in value ? value.html : value.map((one) => one.html).join('');
}

/** Renders a description; text in backticks becomes `code`. */
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
