const NOTE = 'baton-reloaded-at';
const ONCE_IN_MS = 30_000;

/**
 * A page of an older build asks for files that a newer one does not have: then the whole page is loaded anew, but not
 * over and over where that does not help.
 */
export function reloadOnNewBuild(): void {
  addEventListener('vite:preloadError', (event) => {
    const last = Number(sessionStorage.getItem(NOTE) ?? 0);
    if (Date.now() - last < ONCE_IN_MS) return;
    sessionStorage.setItem(NOTE, String(Date.now()));
    event.preventDefault();
    location.reload();
  });
}
