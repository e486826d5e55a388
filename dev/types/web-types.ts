import { describedApi, typesOf, writeGenerated } from './api-types.ts';
import { inCheckout } from '../common/paths.ts';

/** The file with the types of the API's requests and responses, generated from the routes. It is not in git. */
export const TYPES_FILE = inCheckout('web', '.generated', 'api.d.ts');

/** Generates the types of the API for the screens from the schemas that validate requests. */
export async function writeApiTypes(): Promise<void> {
  writeGenerated(TYPES_FILE, await typesOf(describedApi()));
}

if (import.meta.main) await writeApiTypes();
