import { MEMBER_PROBLEMS, PROBLEMS } from '../../src/domain/common/problem-codes.ts';
import { CHANNEL_CODES } from '../../src/domain/channel/channel.ts';
import { markdownTable, pageHead } from './write.ts';

/** Every stable code of refusals: of requests, of members of a body, of the live channel. */
export function problemsPage(): string {
  const problems = Object.entries(PROBLEMS).map(([code, { status, title }]) => [
    String(status),
    `\`${code}\``,
    title,
  ]);
  const channel = Object.entries(CHANNEL_CODES).map(([code, sentence]) => [`\`${code}\``, sentence]);
  return `${[
    pageHead('Problems', '`src/domain/common/problem-codes.ts` and `src/domain/channel/channel.ts`'),
    'A refused request is answered with `application/problem+json` (RFC 9457). Its `code` is one of these and is stable;',
    '`/problems/<code>` of a running service is its page. When each comes up: [the HTTP API](../http-api.md#problems).',
    '',
    markdownTable(['status', '`code`', 'title'], problems),
    '',
    '## What is wrong with a member',
    '',
    `Codes of entries in \`errors\`: ${MEMBER_PROBLEMS.map((code) => `\`${code}\``).join(', ')}.`,
    '',
    '## Codes of the live channel',
    '',
    'What to do about each: [the live channel](../channel.md#codes).',
    '',
    markdownTable(['`code`', 'says'], channel),
  ].join('\n')}\n`;
}
