/**
 * A search for runs. A run matches if its title and metadata contain all `terms`, or if its id is in the range `ids`. A
 * term is a sequence of words, the last of which may be the beginning of a word.
 */
export type RunSearch = { terms: string[][]; ids: IdRange | null };

/** The first and the last of some ids. */
export type IdRange = { first: string; last: string };

/** What separates words: white space and ASCII punctuation, as in `run_words` of the migration M0021FindingRuns. */
const SEPARATORS = /[\s!-/:-@[-`{-~]+/;

/** Returns the search of a text that a person typed; null if it contains no word. */
export function runSearchOf(text: string): RunSearch | null {
  const terms = text
    .split(/\s+/)
    .map((term) => term.split(SEPARATORS).filter((word) => word !== ''))
    .filter((words) => words.length > 0);
  return terms.length === 0 ? null : { terms, ids: idRangeOf(text.trim()) };
}

/** Hexadecimal digits of an id from which it is searched for by its beginning. A shorter one is more likely a word. */
const LEAST_DIGITS = 8;
const DIGITS = 32;

/** Returns the range of ids that begin with a text; null if it is not the beginning of an id. */
function idRangeOf(text: string): IdRange | null {
  const digits = text.toLowerCase().replaceAll('-', '');
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < LEAST_DIGITS || digits.length > DIGITS) return null;
  const first = withDashes(digits.padEnd(DIGITS, '0'));
  const isBeginning = !text.includes('-') || first.startsWith(text.toLowerCase().replace(/-$/, ''));
  return isBeginning ? { first, last: withDashes(digits.padEnd(DIGITS, 'f')) } : null;
}

function withDashes(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * Returns the search for the words of its terms in the language of `to_tsquery`. Its special characters are separators,
 * so that no word contains one.
 */
export function textQueryOf({ terms }: RunSearch): string {
  return terms.map((words) => `(${words.map((word) => `'${word}'`).join(' <-> ')}:*)`).join(' & ');
}
