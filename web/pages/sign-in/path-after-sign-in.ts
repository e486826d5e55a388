const HOME = '/orchestration';

/** Where a sign-in leads: the wanted place where it is one of this address, else the runs. */
export function pathAfterSignIn(requested: string | undefined): string {
  if (requested === undefined || !URL.canParse(requested, location.origin)) return HOME;
  const url = new URL(requested, location.origin);
  const isOurs = url.origin === location.origin && requested.startsWith('/');
  return isOurs && url.pathname !== '/sign-in' ? url.pathname + url.search + url.hash : HOME;
}
