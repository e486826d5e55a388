const HOME = '/orchestration';

/** Returns the path to open after the sign-in: the requested one if it is on this `origin`, else the runs. */
export function pathAfterSignIn(requested: string | undefined, origin: string): string {
  if (requested === undefined || !URL.canParse(requested, origin)) return HOME;
  const url = new URL(requested, origin);
  // The path `/.//host` becomes `//host`, which is another origin.
  const isOurs = url.origin === origin && requested.startsWith('/') && !url.pathname.startsWith('//');
  return isOurs && url.pathname !== '/sign-in' ? url.pathname + url.search + url.hash : HOME;
}
