import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout's root folder, absolute. */
export const checkout = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** A path below the checkout's root. */
export function inCheckout(...parts: string[]): string {
  return join(checkout, ...parts);
}

/** A path below `.local/`, where all that this machine's service keeps lives. */
export function local(...parts: string[]): string {
  return inCheckout('.local', ...parts);
}
