import { MAX_WEBHOOK_NAME_LENGTH } from '../domain/common/limits.ts';
import { truncate } from '../domain/common/text.ts';

/** Returns a text as one line. Names are untrusted input and must not add lines or headers to a mail. */
export function oneLine(text: string, most = MAX_WEBHOOK_NAME_LENGTH * 2): string {
  const line = text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .replace(/\.$/, '');
  return truncate(line, most);
}
