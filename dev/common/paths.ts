import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root folder of the checkout, absolute. */
export const checkout = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Returns a path below the root of the checkout. */
export function inCheckout(...parts: string[]): string {
  return join(checkout, ...parts);
}

/** Returns a path below `.local/`, the folder with all data of the local service. */
export function local(...parts: string[]): string {
  return inCheckout('.local', ...parts);
}
