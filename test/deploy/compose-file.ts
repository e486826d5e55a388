import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** The parts of a compose file that the tests read. */
export type ComposeFile = {
  services: Record<
    string,
    {
      image?: string;
      command?: string[];
      environment?: Record<string, string | number | null>;
      volumes?: string[];
      read_only?: boolean;
      restart?: string;
      ports?: string[];
      networks?: string[] | Record<string, { ipv4_address?: string } | null>;
      deploy?: { replicas?: number };
    }
  >;
  networks: Record<
    string,
    { internal?: boolean; ipam?: { config?: { subnet: string; ip_range?: string }[] } }
  >;
};

/** `${NAME}`, `${NAME:-default}`, `${NAME:?what to do}`. */
const VARIABLE = /\$\{([A-Z0-9_]+)(?::([-?])([^}]*))?\}/g;

/** Returns the names of all variables in a text; `needed`: those that must not be empty. */
export function variablesIn(text: string): { all: Set<string>; needed: Set<string> } {
  const found = [...text.matchAll(VARIABLE)];
  const names = (wanted: RegExpExecArray[]) => new Set(wanted.map(([, name = '']) => name));
  return { all: names(found), needed: names(found.filter(([, , how]) => how === '?')) };
}

/** Replaces variables by their values, as an engine does before it reads a compose file. @throws if a needed one is empty */
export function interpolated(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(VARIABLE, (_whole, name: string, how: string | undefined, words = '') => {
    const value = values[name] ?? '';
    if (value !== '') return value;
    if (how === '?') throw new Error(`${name}: ${words}`);
    return how === '-' ? words : '';
  });
}

/** Reads YAML with its merge keys (`<<`). */
export function readCompose(text: string): ComposeFile {
  return parse(text, { merge: true }) as ComposeFile;
}

/** Reads a file of `NAME=value` lines. */
export function readEnvironmentFile(path: string): Record<string, string> {
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}
