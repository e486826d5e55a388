const STORAGE_KEY = 'baton-reloaded-at';
const MIN_INTERVAL_MS = 30_000;

/** Reloads the page when it requests a file of an older build, at most once in 30 s, since reloading may not help. */
export function reloadOnNewBuild(): void {
  addEventListener('vite:preloadError', (event) => {
    const last = Number(sessionStorage.getItem(STORAGE_KEY) ?? 0);
    if (Date.now() - last < MIN_INTERVAL_MS) return;
    sessionStorage.setItem(STORAGE_KEY, String(Date.now()));
    event.preventDefault();
    location.reload();
  });
}
