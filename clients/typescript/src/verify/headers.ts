/** Headers as they come in: `Headers`, Node's `request.headers`, or an object with names in any case. */
export type GivenHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A header by its lowercase name; null where it is not there. */
export function headerOf(headers: GivenHeaders, name: string): string | null {
  if (isLookup(headers)) return headers.get(name);
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() !== name || value === undefined) continue;
    return typeof value === 'string' ? value : value.join(', ');
  }
  return null;
}

function isLookup(headers: GivenHeaders): headers is { get(name: string): string | null } {
  return typeof headers['get'] === 'function';
}
