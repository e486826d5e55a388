/** Returns TypeScript as JavaScript, from the folder `cache` if it is there, see `strip-types.mjs`. */
export function withoutTypes(source: string, cache: string): string;
