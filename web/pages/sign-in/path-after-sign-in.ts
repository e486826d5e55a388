const HOME = '/orchestration';

/** Returns the path to open after the sign-in: the requested one if it is on this origin, else the runs. */
export function pathAfterSignIn(requested: string | undefined): string {
  if (requested === undefined || !URL.canParse(requested, location.origin)) return HOME;
  const url = new URL(requested, location.origin);
  const isOurs = url.origin === location.origin && requested.startsWith('/');
  return isOurs && url.pathname !== '/sign-in' ? url.pathname + url.search + url.hash : HOME;
}
