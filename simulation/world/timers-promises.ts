/* Replaces `node:timers/promises` in production code, by the clock of the world. */

export function setTimeout<T>(ms: number, value?: T): Promise<T | undefined> {
  return new Promise((resolve) => globalThis.setTimeout(() => resolve(value), ms));
}
