/** Position of a value in a text: from `start` up to, not including, `end`. */
export type Span = { start: number; end: number };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENS_OBJECT = 0x7b;
const CLOSES_OBJECT = 0x7d;
const OPENS_LIST = 0x5b;
const CLOSES_LIST = 0x5d;
const COMMA = 0x2c;

/*
 * Finds values in JSON texts without parsing them, so that they can be passed on byte for byte. `JSON.parse` must have
 * accepted every text given here: nothing is checked again.
 */

/**
 * Returns the span of the value of the field `name` in the object that begins at or after `from`, or null if there is
 * none. Of several fields with the same name the last one counts, as with `JSON.parse`.
 */
export function fieldSpan(text: string, name: string, from = 0): Span | null {
  let found: Span | null = null;
  let at = skipSpace(text, skipSpace(text, from) + 1);
  while (text.charCodeAt(at) !== CLOSES_OBJECT) {
    const endOfName = skipString(text, at);
    const isWanted = isName(text, at, endOfName, name);
    const start = skipSpace(text, skipSpace(text, endOfName) + 1);
    const end = skipValue(text, start);
    if (isWanted) found = { start, end };
    at = skipComma(text, end);
  }
  return found;
}

/** Returns the spans of the entries of the list that begins at or after `from`. */
export function entrySpans(text: string, from = 0): Span[] {
  const found: Span[] = [];
  let at = skipSpace(text, skipSpace(text, from) + 1);
  while (text.charCodeAt(at) !== CLOSES_LIST) {
    const end = skipValue(text, at);
    found.push({ start: at, end });
    at = skipComma(text, end);
  }
  return found;
}

/**
 * Returns the value of a JSON text as JSON without white space, as `JSON.stringify` writes it, but with the fields of each
 * object in the order of the text: JavaScript puts names such as `10` first. Of several fields with the same name the last
 * value counts, as with `JSON.parse`. Recursive, so the depth must be bounded.
 */
export function orderedJson(text: string): string {
  return writeValue(text, skipSpace(text, 0)).json;
}

type Written = { json: string; end: number };

function writeValue(text: string, at: number): Written {
  const first = text.charCodeAt(at);
  if (first === OPENS_OBJECT) return writeObject(text, at);
  if (first === OPENS_LIST) return writeList(text, at);
  const end = skipValue(text, at);
  return { json: JSON.stringify(JSON.parse(text.slice(at, end))), end };
}

function writeObject(text: string, from: number): Written {
  const fields = new Map<string, string>();
  let at = skipSpace(text, from + 1);
  while (text.charCodeAt(at) !== CLOSES_OBJECT) {
    const endOfName = skipString(text, at);
    const name = JSON.stringify(JSON.parse(text.slice(at, endOfName)));
    const { json, end } = writeValue(text, skipSpace(text, skipSpace(text, endOfName) + 1));
    fields.set(name, json);
    at = skipComma(text, end);
  }
  return { json: `{${[...fields].map(([name, json]) => `${name}:${json}`).join(',')}}`, end: at + 1 };
}

function writeList(text: string, from: number): Written {
  const entries: string[] = [];
  let at = skipSpace(text, from + 1);
  while (text.charCodeAt(at) !== CLOSES_LIST) {
    const { json, end } = writeValue(text, at);
    entries.push(json);
    at = skipComma(text, end);
  }
  return { json: `[${entries.join(',')}]`, end: at + 1 };
}

/** Returns whether a string between quotes is this name. It may contain escapes. */
function isName(text: string, start: number, end: number, name: string): boolean {
  if (end - start - 2 === name.length && text.startsWith(name, start + 1)) return true;
  // Sliced first: for each name, a search in the whole text would read on to the end of the text.
  const written = text.slice(start, end);
  return written.includes('\\') && JSON.parse(written) === name;
}

function skipValue(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === QUOTE) return skipString(text, at);
  return first === OPENS_OBJECT || first === OPENS_LIST ? skipNest(text, at) : skipBare(text, at);
}

/** Returns the position after an object or a list. Kinds of brackets are not distinguished: they are known to match. */
function skipNest(text: string, from: number): number {
  let depth = 0;
  for (let at = from; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = skipString(text, at) - 1;
    else if (code === OPENS_OBJECT || code === OPENS_LIST) depth += 1;
    else if (code === CLOSES_OBJECT || code === CLOSES_LIST) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
}

/** Returns the position after the closing quote: the first quote without an odd number of backslashes before it. */
function skipString(text: string, from: number): number {
  for (let quote = text.indexOf('"', from + 1); ; quote = text.indexOf('"', quote + 1)) {
    let first = quote;
    while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
    if ((quote - first) % 2 === 0) return quote + 1;
  }
}

/** Returns the position after a number, true, false or null. */
function skipBare(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code <= 0x20 || code === COMMA || code === CLOSES_OBJECT || code === CLOSES_LIST) return at;
    at += 1;
  }
  return at;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

function skipComma(text: string, from: number): number {
  const at = skipSpace(text, from);
  return text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at;
}
