import { randomHex } from './random.ts';

/**
 * Returns a function that returns the Idempotency-Key of a request body: the same for the same body, so that a form that
 * is submitted twice, or again after a lost response, takes effect once.
 */
export function createRequestKeys(newKey: () => string = () => randomHex(16)): (body: unknown) => string {
  let last: { text: string; key: string } | undefined;
  return (body) => {
    const text = JSON.stringify(body);
    if (last?.text !== text) last = { text, key: newKey() };
    return last.key;
  };
}
