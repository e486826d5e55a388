import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import { allRoutes } from '../../src/api/app.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { openApiDocument } from '../../src/api/http/openapi.ts';

/**
 * Returns the OpenAPI document of the routes with one of these tags; of all routes if there are none. It only describes
 * the routes, so it needs no service and no dependencies.
 */
export function describedApi(tags?: readonly string[]) {
  const routes = allRoutes({} as Dependencies);
  return openApiDocument(
    routes.filter(({ tag }) => tags?.includes(tag) ?? true),
    '',
  );
}

/** Returns TypeScript types for the schemas, parameters and responses of an OpenAPI 3.1 document. */
export async function typesOf(document: unknown): Promise<string> {
  return astToString(await openapiTS(JSON.stringify(document), { defaultNonNullable: false }));
}

/** Writes a generated file if its content has changed. */
export function writeGenerated(file: string, text: string): void {
  if (textOf(file) === text) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
