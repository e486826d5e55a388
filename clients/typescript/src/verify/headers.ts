/** Request headers: `Headers`, Node's `request.headers`, or an object with names in any case. */
export type GivenHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns a header by its lowercase name, or null if it is missing. */
export function getHeader(headers: GivenHeaders, name: string): string | null {
  if (hasGetMethod(headers)) return headers.get(name);
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() !== name || value === undefined) continue;
    return typeof value === 'string' ? value : value.join(', ');
  }
  return null;
}

function hasGetMethod(headers: GivenHeaders): headers is { get(name: string): string | null } {
  return typeof headers['get'] === 'function';
}
