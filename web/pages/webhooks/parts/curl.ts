import { MASKED } from '../../../../src/domain/webhooks/delivery.ts';
import type { Attempt } from './queries.ts';

type Request = Pick<Attempt['request'], 'url' | 'headers' | 'body'>;

/** Returns a curl command that sends the same bytes and headers. A masked secret becomes a placeholder. */
export function asCurl({ url, headers, body }: Request): string {
  const lines = [`curl -X POST ${quoted(url)}`];
  for (const [name, value] of Object.entries(headers)) {
    lines.push(`  -H ${quoted(`${name}: ${value === MASKED ? 'YOUR_SECRET' : value}`)}`);
  }
  if (body !== null) lines.push(`  --data-binary ${quoted(body)}`);
  return lines.join(' \\\n');
}

/** Returns a text quoted for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
