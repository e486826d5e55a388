import { styleText } from 'node:util';
import stringWidth from 'string-width';
import { endWithoutReader, type Io } from './io.ts';

/** The output of a command. With `json`, text for people is omitted and documents are printed. */
export type Output = {
  json: boolean;
  /** True if progress is shown: with `--verbose`, or in a terminal. */
  talkative: boolean;
  /** True if lines can be redrawn. */
  live: boolean;
  columns: number;
  rows: number;
  /** Raw text, for drawing. */
  write(text: string): void;
  /** Prints a line of text; nothing with `--json`. */
  line(text?: string): void;
  /** Prints one JSON document; nothing without `--json`. */
  document(value: unknown): void;
  /** Prints one JSON document on one line, for streams. */
  jsonLine(value: unknown): void;
  /** Prints to stderr, also with `--json`. */
  note(text: string): void;
  /** See cli/io.ts. */
  endWithoutReader(): void;
};

export function createOutput(json: boolean, verbose: boolean, io: Io): Output {
  const { stdout, stderr, env } = io;
  return {
    json,
    talkative: verbose || stderr.isTTY === true,
    live: stdout.isTTY === true && !json && env.TERM !== 'dumb',
    get columns() {
      return stdout.columns ?? 80;
    },
    get rows() {
      return stdout.rows ?? 24;
    },
    write: (text) => void stdout.write(text),
    line: (text = '') => void (json || stdout.write(`${text}\n`)),
    document: (value) => void (json && stdout.write(`${jsonText(value, 2)}\n`)),
    jsonLine: (value) => void (json && stdout.write(`${jsonText(value)}\n`)),
    note: (text) => void stderr.write(`${text}\n`),
    endWithoutReader: () => endWithoutReader(io),
  };
}

type Style = Parameters<typeof styleText>[0];

/** Returns the text with colour if the terminal supports it (respects NO_COLOR and pipes). */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** Returns untrusted text without terminal control sequences; line ends become spaces. */
export function printable(text: string): string {
  return withoutControlCharacters(text.replaceAll(/\s+/g, ' '));
}

/** Returns the lines of untrusted text, with all spaces. */
export function printableLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => withoutControlCharacters(line.replaceAll('\t', '  ')));
}

/**
 * Returns a value as JSON that is safe in a terminal. `JSON.stringify` escapes only the control characters below U+0020.
 */
export function jsonText(value: unknown, indent = 0): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, null, indent).replaceAll(
    /[\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g,
    escaped,
  );
}

function withoutControlCharacters(text: string): string {
  return text.replaceAll(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, '\uFFFD');
}

/** Trusted text that may contain colours. */
export type StyledText = { drawn: string };
export type Cell = string | number | null | StyledText;

/** Formats rows in aligned columns; trailing empty columns are omitted. */
export function table(headings: readonly string[], rows: ReadonlyArray<readonly Cell[]>): string {
  const texts = [headings, ...rows].map((row) => row.map(shownCell));
  const widths = headings.map((_, column) => Math.max(...texts.map((row) => stringWidth(row[column] ?? ''))));
  const lines = texts.map((row) =>
    row
      .map((cell, column) => padded(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const [first = '', ...rest] = lines;
  return [styled('dim', first), ...rest].join('\n');
}

/** Returns a text with spaces up to this width in columns of a terminal, of which some characters take two. */
export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}

function shownCell(cell: Cell): string {
  if (cell === null) return '-';
  return typeof cell === 'object' ? cell.drawn : printable(String(cell));
}

/** Formats `label  value` lines with aligned values. */
export function fields(pairs: ReadonlyArray<readonly [label: string, value: Cell | undefined]>): string {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  const width = Math.max(0, ...shown.map(([label]) => label.length));
  return shown
    .map(([label, value]) => `${styled('dim', label.padEnd(width))}  ${shownCell(value ?? null)}`)
    .join('\n');
}

/** Formats a duration, for example `812 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}
