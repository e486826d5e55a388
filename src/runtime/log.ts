import { pino, type DestinationStream, type Logger } from 'pino';

/** Nobody logs these; should somebody ever, they don't come out. Named in full: a wildcard would cost every line 7 µs. */
const SECRETS = ['secret', 'callback_secret', 'password', 'token', 'api_key', 'authorization', 'cookie'];
const CONTENTS = ['headers', 'request_headers', 'body'];
const REDACTED = [...SECRETS, ...CONTENTS].flatMap((name) => [name, `err.${name}`]);

/**
 * The log of a process: JSON lines, on standard output unless told otherwise. `more` stands in every line, as what is
 * under way has it at that moment.
 */
export function createLog(
  name: string,
  { more, to }: { more?: () => Record<string, string>; to?: DestinationStream } = {},
): Logger {
  const options = { name, level: logLevel(), redact: REDACTED, ...(more ? { mixin: more } : {}) };
  return to ? pino(options, to) : pino(options);
}

/** LOG_LEVEL where it is one; the configuration complains of any other, and that must be logged. */
function logLevel(): string {
  const given = process.env['LOG_LEVEL'] ?? '';
  return given === 'silent' || given in pino.levels.values ? given : 'info';
}
