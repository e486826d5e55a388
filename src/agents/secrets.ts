import { truncate } from '../domain/common/text.ts';

/** Environment variables, usually `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Names of variables that contain secrets. */
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|session/i;
/** Shorter values would also match ordinary words. */
const SHORTEST_SECRET = 6;

/** A secret value, and the variable that contains it. */
export type Secret = { variable: string; value: string };

/** Returns the secrets among a program's variables, recognized by their names. */
export function secretsAmong(names: readonly string[], environment: Environment): Secret[] {
  return secretsIn(
    names.filter((name) => SECRET_NAME.test(name)),
    environment,
  );
}

/**
 * Returns the values of these variables as secrets, whatever their names. The part after a scheme such as `Bearer` is a
 * secret too.
 */
export function secretsIn(names: readonly string[], environment: Environment): Secret[] {
  return names
    .flatMap((variable) => {
      const value = environment[variable]?.trim() ?? '';
      const bare = value.replace(/^\w+ +/, '');
      return [...new Set([value, bare])].map((one) => ({ variable, value: one }));
    })
    .filter(({ value }) => value.length >= SHORTEST_SECRET)
    .toSorted((one, other) => other.value.length - one.value.length);
}

/** Returns a text with all secrets replaced by the names of their variables. */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  return secrets.reduce((left, { variable, value }) => left.replaceAll(value, `[${variable}]`), text);
}

/**
 * Returns the beginning of a text without secrets, at most `length` UTF-16 units. The text may have been cut there
 * before: what can be the beginning of a secret is then removed from its end.
 */
export function beginningWithoutSecrets(text: string, secrets: readonly Secret[], length: number): string {
  // A cut before half of a character leaves one unit less.
  const mayBeCut = text.length >= length - 1;
  return truncate(withoutSecrets(mayBeCut ? withoutHalfSecret(text, secrets) : text, secrets), length);
}

/** Returns a text without the longest beginning of a secret, or a whole one, at its end. */
function withoutHalfSecret(text: string, secrets: readonly Secret[]): string {
  const lengths = secrets.map(({ value }) => {
    let length = Math.min(value.length, text.length);
    while (length > 0 && !text.endsWith(value.slice(0, length))) length -= 1;
    return length;
  });
  return text.slice(0, text.length - Math.max(0, ...lengths));
}
