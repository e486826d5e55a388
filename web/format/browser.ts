/** Browsers and systems by the word that gives them away; what names itself after another stands before that. */
const BROWSERS = { Edg: 'Edge', OPR: 'Opera', Firefox: 'Firefox', Chrome: 'Chrome', Safari: 'Safari' };
const SYSTEMS = ['Windows', 'Android', 'iPhone', 'iPad', 'Mac OS X', 'Linux'];
const MAX_LENGTH = 40;

/** `Firefox on Linux`, as far as the words of a browser about itself can be trusted. */
export function browserName(userAgent: string | null): string {
  if (!userAgent) return 'unknown';
  const browser = Object.entries(BROWSERS).find(([word]) => userAgent.includes(`${word}/`))?.[1];
  if (browser === undefined) return userAgent.slice(0, MAX_LENGTH);
  const system = SYSTEMS.find((word) => userAgent.includes(word));
  return system ? `${browser} on ${system}` : browser;
}
