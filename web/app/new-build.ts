const STORAGE_KEY = 'baton-reloaded-at';
const MIN_INTERVAL_MS = 30_000;

/**
 * A page of an older build asks for files that a newer one does not have: then the whole page is loaded anew, but not
 * over and over where that does not help.
 */
export function reloadOnNewBuild(): void {
  addEventListener('vite:preloadError', (event) => {
    const last = Number(sessionStorage.getItem(STORAGE_KEY) ?? 0);
    if (Date.now() - last < MIN_INTERVAL_MS) return;
    sessionStorage.setItem(STORAGE_KEY, String(Date.now()));
    event.preventDefault();
    location.reload();
  });
}
