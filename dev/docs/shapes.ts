/** A member of this name in what a page shows stands for others that it leaves out; so does `…` as the last of a list. */
const OTHERS = '…';

/**
 * What of an answer does not fit what a page shows of it, each as a sentence with its place. Compared are the names of
 * members and the kinds of values, not the values; `null` stands for anything, and of a list the first element counts.
 */
export function differences(shown: unknown, given: unknown, place = ''): string[] {
  const at = place === '' ? 'the answer' : place;
  if (shown === null || shown === OTHERS) return [];
  if (kindOf(shown) !== kindOf(given)) return [`${at} is ${kindOf(given)}, not ${kindOf(shown)}`];
  if (Array.isArray(shown) && Array.isArray(given)) {
    if (shown.length === 0 || shown[0] === OTHERS) return [];
    return given.length === 0 ? [`${at} is empty`] : differences(shown[0], given[0], `${place}[0]`);
  }
  if (!isObject(shown) || !isObject(given)) return [];
  const missing = Object.keys(shown).filter((name) => name !== OTHERS && !Object.hasOwn(given, name));
  const unsaid = Object.hasOwn(shown, OTHERS)
    ? []
    : Object.keys(given).filter((name) => !Object.hasOwn(shown, name));
  return [
    ...missing.map((name) => `${at} has no ${name}`),
    ...unsaid.map((name) => `${at} has ${name}, too`),
    ...Object.keys(shown)
      .filter((name) => Object.hasOwn(given, name))
      .flatMap((name) => differences(shown[name], given[name], place === '' ? name : `${place}.${name}`)),
  ];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return kindOf(value) === 'object';
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : typeof value;
}
