import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import { allRoutes } from '../src/api/app.ts';
import type { Dependencies } from '../src/api/dependencies.ts';
import { openApiDocument } from '../src/api/http/openapi.ts';
import { inCheckout } from './paths.ts';

/** Where the types of the API's requests and answers are, made anew from the routes, never kept in git. */
export const TYPES_FILE = inCheckout('web', '.generated', 'api.d.ts');

/**
 * Writes the types of the API for the screens, made from the same schemas that check requests. The file stays
 * untouched where nothing has changed.
 */
export async function writeApiTypes(): Promise<void> {
  // Routes are only described here; nothing of what they would work with is needed.
  const document = openApiDocument(allRoutes({} as Dependencies), '');
  const ast = await openapiTS(JSON.stringify(document), { defaultNonNullable: false });
  const text = astToString(ast);
  if (textOf(TYPES_FILE) === text) return;
  mkdirSync(dirname(TYPES_FILE), { recursive: true });
  writeFileSync(TYPES_FILE, text);
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

if (import.meta.main) await writeApiTypes();
