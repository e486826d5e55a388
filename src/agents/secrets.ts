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
