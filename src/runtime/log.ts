import { pino, type DestinationStream, type Logger } from 'pino';

/**
 * Redacted as a precaution; no code logs these fields. Listed in full, because a wildcard would add 7 µs to each
 * line.
 */
const SECRETS = ['secret', 'callback_secret', 'password', 'token', 'api_key', 'authorization', 'cookie'];
const CONTENTS = ['headers', 'request_headers', 'body'];
const REDACTED = [...SECRETS, ...CONTENTS].flatMap((name) => [name, `err.${name}`]);

/**
 * Creates the log of a process: JSON lines, by default on standard output. `more` returns fields that are added to
 * each line.
 */
export function createLog(
  name: string,
  { more, to }: { more?: () => Record<string, string>; to?: DestinationStream } = {},
): Logger {
  const options = { name, level: logLevel(), redact: REDACTED, ...(more ? { mixin: more } : {}) };
  return to ? pino(options, to) : pino(options);
}

/** Returns LOG_LEVEL if it is valid. Otherwise the configuration reports the error, which must be logged. */
function logLevel(): string {
  const given = process.env['LOG_LEVEL'] ?? '';
  return given === 'silent' || given in pino.levels.values ? given : 'info';
}
