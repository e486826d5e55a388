const HOME = '/orchestration';

/** Where a sign-in leads: the wanted place where it is one of this address, else the runs. */
export function placeAfterSignIn(wanted: string | undefined): string {
  if (wanted === undefined || !URL.canParse(wanted, location.origin)) return HOME;
  const url = new URL(wanted, location.origin);
  const isOurs = url.origin === location.origin && wanted.startsWith('/');
  return isOurs && url.pathname !== '/sign-in' ? url.pathname + url.search + url.hash : HOME;
}
