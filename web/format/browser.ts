/** Browsers by their token in a user agent. A browser that also names another one comes before that one. */
const BROWSERS = { Edg: 'Edge', OPR: 'Opera', Firefox: 'Firefox', Chrome: 'Chrome', Safari: 'Safari' };
const SYSTEMS = ['Windows', 'Android', 'iPhone', 'iPad', 'Mac OS X', 'Linux'];
const MAX_LENGTH = 40;

/** Returns `Firefox on Linux`, as far as the user agent can be trusted. */
export function browserName(userAgent: string | null): string {
  if (!userAgent) return 'unknown';
  const browser = Object.entries(BROWSERS).find(([word]) => userAgent.includes(`${word}/`))?.[1];
  if (browser === undefined) return userAgent.slice(0, MAX_LENGTH);
  const system = SYSTEMS.find((word) => userAgent.includes(word));
  return system ? `${browser} on ${system}` : browser;
}
