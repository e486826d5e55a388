import { MAX_WEBHOOK_NAME_LENGTH } from '../domain/common/limits.ts';

/** Names are other people's texts: they must not make lines or headers of a mail. */
export function oneLine(text: string, most = MAX_WEBHOOK_NAME_LENGTH * 2): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .replace(/\.$/, '')
    .slice(0, most);
}
