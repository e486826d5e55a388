import { randomUUID } from 'node:crypto';

/** Marks JSON texts in a body until it is written. Random, so that no value of a caller contains it. */
const MARK = `json-text:${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}([^"\\\\]*(?:\\\\.[^"\\\\]*)*)"`, 'g');

/** A JSON text in a response, which {@link bodyText} writes as it is. */
export class JsonText {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toJSON(): string {
    return MARK + this.#text;
  }
}

/** Returns the body of a response as JSON. */
export function bodyText(body: unknown): string {
  const text = JSON.stringify(body);
  if (!text.includes(MARK)) return text;
  return text.replace(MARKED, (_, escaped: string) => JSON.parse(`"${escaped}"`) as string);
}
