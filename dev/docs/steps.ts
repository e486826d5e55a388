import type { Page } from './markdown.ts';

/** A step of a page. `line`: where the block or the note begins. */
export type Step =
  /** Commands in the reader's terminal. `again`: repeated until they print the expected text. */
  | {
      kind: 'run';
      line: number;
      text: string;
      exit: number;
      status: number | null;
      prints: string | null;
      again: boolean;
    }
  /** Commands in a separate terminal. The page continues when they have printed `ready`. */
  | { kind: 'other'; line: number; text: string; ready: string }
  /** Waits until the other terminal prints a text. */
  | { kind: 'heard'; line: number; text: string }
  /** Presses Ctrl-C in the other terminal. */
  | { kind: 'stop'; line: number }
  /** JSON that the previous commands must have printed. Only its shape is compared. */
  | { kind: 'answer'; line: number; text: string }
  /** Commands that are not run, and the reason. */
  | { kind: 'skipped'; line: number; text: string; reason: string };

export const SHELLS = ['sh', 'bash', 'shell', 'console'];

/** The reason why `npm start` is not run. */
export const STARTS = 'starts the service, as the test has done already';

/** The allowed reasons for not running commands. */
export const REASONS = [
  STARTS,
  'needs a container engine',
  'needs a cluster',
  'needs a PostgreSQL and a Temporal of your own',
  'needs a model and its key',
  'needs a service of somebody else',
  'needs a person at a browser',
  'installs packages',
  'takes minutes',
  'changes the checkout',
  'run by a test of its own',
] as const;

const FORMS = {
  skipped: /^not run: (.+)$/,
  other: /^other terminal until: (.+)$/,
  heard: /^other terminal prints: (.+)$/,
  stop: /^other terminal: Ctrl-C$/,
  exit: /^exits with (\d+)$/,
  status: /^answers (\d{3})$/,
  prints: /^prints: (.+)$/,
  soon: /^soon prints: (.+)$/,
  answer: /^answer$/,
};

/**
 * Returns the steps of a page, from its blocks of shell commands and its comments. A comment right above a block of
 * commands is one of these:
 *
 * - `not run: REASON`, one of REASONS
 * - `other terminal until: TEXT`: runs in a separate terminal, which is ready once it has printed TEXT
 * - `exits with N`: the block exits with this code instead of 0
 * - `answers N`: its HTTP request fails with this status
 * - `prints: TEXT`; `soon prints: TEXT` repeats the block until it does, so the commands must change nothing
 *
 * Above a block of JSON, `answer` means that the previous commands print it. `other terminal prints: TEXT` and
 * `other terminal: Ctrl-C` need no block.
 * @throws Error if a comment above commands is none of these
 */
export function stepsOf(page: Page): Step[] {
  return page.parts.flatMap((part): Step[] => {
    if (part.kind === 'note') return separateNote(part.line, part.text);
    if (part.kind !== 'block') return [];
    const { line, text, notes } = part;
    const own = notes.filter((note) => !isSeparate(note));
    const before = notes.filter(isSeparate).flatMap((note) => separateNote(line, note));
    if (SHELLS.includes(part.language)) return [...before, commands(`${page.path}:${line}`, line, text, own)];
    if (own.some((note) => FORMS.answer.test(note))) return [...before, { kind: 'answer', line, text }];
    return before;
  });
}

function isSeparate(note: string): boolean {
  return FORMS.heard.test(note) || FORMS.stop.test(note);
}

function separateNote(line: number, note: string): Step[] {
  const heard = FORMS.heard.exec(note);
  if (heard !== null) return [{ kind: 'heard', line, text: heard[1] ?? '' }];
  return FORMS.stop.test(note) ? [{ kind: 'stop', line }] : [];
}

function commands(where: string, line: number, text: string, notes: string[]): Step {
  const found: Record<string, string> = {};
  for (const note of notes) {
    const form = Object.entries(FORMS).find(([, pattern]) => pattern.test(note));
    if (form === undefined) throw new Error(`${where}: "${note}" is not a known note`);
    found[form[0]] = form[1].exec(note)?.[1] ?? '';
  }
  const { skipped, other, exit, status, prints, soon } = found;
  if (skipped !== undefined) return { kind: 'skipped', line, text, reason: skipped };
  if (other !== undefined) return { kind: 'other', line, text, ready: other };
  return {
    kind: 'run',
    line,
    text,
    exit: exit === undefined ? 0 : Number(exit),
    status: status === undefined ? null : Number(status),
    prints: prints ?? soon ?? null,
    again: soon !== undefined,
  };
}
