import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root folder of the checkout, absolute. */
export const checkout = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Returns a path below the root of the checkout. */
export function inCheckout(...parts: string[]): string {
  return join(checkout, ...parts);
}

/** Set by `npx baton start`, whose service has its data outside its own folder. */
const given = process.env['BATON_DATA'];
const data = given ? resolve(given) : inCheckout('.local');

/** The command that starts the local service. */
export const START_COMMAND = given ? 'npx baton start' : 'npm start';

/** Returns a path below the folder with all data of the local service: `.local/` of the checkout, or `BATON_DATA`. */
export function local(...parts: string[]): string {
  return join(data, ...parts);
}

/** Returns such a path as users know it, for example `.local/logs`. */
export function shownLocal(...parts: string[]): string {
  return join(basename(data), ...parts);
}
