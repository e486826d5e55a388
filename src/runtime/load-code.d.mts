/** Returns TypeScript as JavaScript, from the folder `cache` if it is there, see `load-code.mjs`. */
export function withoutTypes(source: string, cache: string): string;
