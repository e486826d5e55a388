/** What a process was started with, as a rule `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables whose names say that they hold a secret. */
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|session/i;
/** What is shorter would be found in ordinary words. */
const SHORTEST_SECRET = 6;

/** A value that must not be told to anybody, and the variable it stands in. */
export type Secret = { variable: string; value: string };

/** Secrets among variables that a program was given: those whose names say so. */
export function secretsAmong(names: readonly string[], environment: Environment): Secret[] {
  return secretsIn(
    names.filter((name) => SECRET_NAME.test(name)),
    environment,
  );
}

/** Variables that are secrets, whatever they are called; in a header, what follows `Bearer` is one by itself. */
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

/** A text without the secrets, wherever it comes from. */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  return secrets.reduce((left, { variable, value }) => left.replaceAll(value, `[${variable}]`), text);
}
