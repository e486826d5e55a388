import { FIELD_PROBLEMS, PROBLEMS } from '../../src/domain/common/problem-codes.ts';
import { CHANNEL_CODES } from '../../src/domain/channel/channel.ts';
import { markdownTable, pageHead } from './write.ts';

/** Renders every problem code: of requests, of fields of a body, and of the live channel. */
export function problemsPage(): string {
  const problems = Object.entries(PROBLEMS).map(([code, { status, title }]) => [
    String(status),
    `\`${code}\``,
    title,
  ]);
  const channel = Object.entries(CHANNEL_CODES).map(([code, sentence]) => [`\`${code}\``, sentence]);
  return `${[
    pageHead('Problems', '`src/domain/common/problem-codes.ts` and `src/domain/channel/channel.ts`'),
    'Errors are returned as `application/problem+json` (RFC 9457). The `code` is stable and one of these values.',
    'A running service describes each code at `/problems/<code>`. For causes, see [the HTTP API](../http-api.md#problems).',
    '',
    markdownTable(['status', '`code`', 'title'], problems),
    '',
    '## Field errors',
    '',
    `Codes of entries in \`errors\`: ${FIELD_PROBLEMS.map((code) => `\`${code}\``).join(', ')}.`,
    '',
    '## Codes of the live channel',
    '',
    'For what to do, see [the live channel](../channel.md#codes). If a connection is refused, the `title` of the problem is the name of',
    'its HTTP status.',
    '',
    markdownTable(['`code`', 'message'], channel),
  ].join('\n')}\n`;
}
