/** Something that might hold a secret. `name` begins with its kind: history, answer, table or file. */
export type Place = { name: string; content: Buffer };

/** The shapes in which a value may lie about: as it is, and in the usual codings. */
export function formsOf(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  const forms = [value, encodeURIComponent(value), bytes.toString('hex'), ...base64Forms(bytes)];
  const isHex = /^([0-9a-f]{2}){16,}$/.test(value);
  const decoded = isHex ? Buffer.from(value, 'hex') : null;
  return [
    ...forms.map((form) => Buffer.from(form)),
    ...(decoded ? [decoded, ...base64Forms(decoded).map((form) => Buffer.from(form))] : []),
  ];
}

/** Base64 of the middle of the value, for each of the three places at which it may begin in a longer text. */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((shift) => {
    const end = bytes.length - ((bytes.length - shift) % 3);
    const middle = bytes.subarray(shift, end);
    return [middle.toString('base64'), middle.toString('base64url')];
  });
}

export function isHeldBy(content: Buffer, forms: readonly Buffer[]): boolean {
  return forms.some((form) => content.includes(form));
}

/** Names of the places that hold the value in any form. */
export function placesHolding(places: readonly Place[], value: string): string[] {
  const forms = formsOf(value);
  return places.filter(({ content }) => isHeldBy(content, forms)).map(({ name }) => name);
}
