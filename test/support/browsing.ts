/** A minimal browser that follows redirects and keeps cookies: each origin has its own cookies. */
export type Browsing = {
  /** Follows redirects until one leads to `until`, or a response is not a redirect. Returns the last response. */
  open(url: string, until?: (location: URL) => boolean): Promise<Page>;
  cookies(origin: string): ReadonlyMap<string, string>;
  /** Returns the Cookie header that the browser would send there. */
  cookieHeader(origin: string): string;
};

export type Page = { status: number; location: URL | null; url: URL; headers: Headers; text: string };

export function startBrowsing(): Browsing {
  const jars = new Map<string, Map<string, string>>();
  const jarOf = (origin: string) => {
    const jar = jars.get(origin) ?? new Map<string, string>();
    jars.set(origin, jar);
    return jar;
  };
  const cookieHeader = (origin: string) =>
    [...jarOf(origin)].map(([name, value]) => `${name}=${value}`).join('; ');

  async function get(url: URL): Promise<Page> {
    const response = await fetch(url, { redirect: 'manual', headers: { Cookie: cookieHeader(url.origin) } });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(cookie)) jarOf(url.origin).delete(name);
      else jarOf(url.origin).set(name, value);
    }
    const location = response.headers.get('location');
    return {
      status: response.status,
      location: location === null ? null : new URL(location, url),
      url,
      headers: response.headers,
      text: await response.text(),
    };
  }

  return {
    async open(url, until = () => false) {
      let page = await get(new URL(url));
      for (let hops = 0; page.location !== null && !until(page.location); hops += 1) {
        if (hops > 20) throw new Error(`too many redirects at ${page.url.href}`);
        page = await get(page.location);
      }
      return page;
    },
    cookies: jarOf,
    cookieHeader,
  };
}
