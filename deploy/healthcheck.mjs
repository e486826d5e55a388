/*
 * Exits with 0 if the process of this container is alive. API and gateway listen at PORT, workers at METRICS_PORT.
 * The first of the two ports that responds decides.
 */
const LIMIT_MS = 4_000;
const { PORT = '3000', METRICS_PORT } = process.env;

/** Returns true if the response was 200; null if nothing listens. */
async function isLive(port) {
  try {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const { status } = await fetch(`http://127.0.0.1:${port}/health/live`, { signal });
    return status === 200;
  } catch (error) {
    return error.cause?.code === 'ECONNREFUSED' ? null : false;
  }
}

let live = null;
for (const port of [PORT, METRICS_PORT]) if (live === null && port) live = await isLive(port);
if (live !== true) {
  console.error(
    live === null ? 'nothing listens at PORT or METRICS_PORT' : '/health/live did not answer with 200',
  );
  process.exitCode = 1;
}
