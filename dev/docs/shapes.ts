/**
 * In the JSON of a page, a field with this name stands for fields that the page leaves out. As the last element of a
 * list it stands for further elements.
 */
const OTHERS = '…';

/**
 * Returns how a response differs from the JSON that a page shows, each difference as a sentence. Compares the names of
 * fields and the kinds of values, but not the values. `null` matches everything. Only the first element of a list
 * counts.
 */
export function differences(shown: unknown, given: unknown, path = ''): string[] {
  const at = path === '' ? 'the response' : path;
  if (shown === null || shown === OTHERS) return [];
  if (kindOf(shown) !== kindOf(given)) return [`${at} is ${kindOf(given)}, not ${kindOf(shown)}`];
  if (Array.isArray(shown) && Array.isArray(given)) {
    if (shown.length === 0 || shown[0] === OTHERS) return [];
    return given.length === 0 ? [`${at} is empty`] : differences(shown[0], given[0], `${path}[0]`);
  }
  if (!isObject(shown) || !isObject(given)) return [];
  const missing = Object.keys(shown).filter((name) => name !== OTHERS && !Object.hasOwn(given, name));
  const unsaid = Object.hasOwn(shown, OTHERS)
    ? []
    : Object.keys(given).filter((name) => !Object.hasOwn(shown, name));
  return [
    ...missing.map((name) => `${at} has no ${name}`),
    ...unsaid.map((name) => `${at} also has ${name}`),
    ...Object.keys(shown)
      .filter((name) => Object.hasOwn(given, name))
      .flatMap((name) => differences(shown[name], given[name], path === '' ? name : `${path}.${name}`)),
  ];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return kindOf(value) === 'object';
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : typeof value;
}
