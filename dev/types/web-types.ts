import { describedApi, typesOf, writeMade } from './api-types.ts';
import { inCheckout } from '../common/paths.ts';

/** The file with the types of the API's requests and responses. It is generated from the routes and is not in git. */
export const TYPES_FILE = inCheckout('web', '.generated', 'api.d.ts');

/** Writes the types of the API for the screens, made from the same schemas that check requests. */
export async function writeApiTypes(): Promise<void> {
  writeMade(TYPES_FILE, await typesOf(describedApi()));
}

if (import.meta.main) await writeApiTypes();
