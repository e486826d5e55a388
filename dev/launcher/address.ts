import { isFree, freePort } from '../common/free-port.ts';
import { START_COMMAND } from '../common/paths.ts';
import type { Address } from './service-environment.ts';

const DEFAULT_PORT = 3000;

/**
 * Returns where the API listens, from HOST, PORT (0: any free port) and BASE_URL.
 * @throws Error if PORT is not a port number, or is in use
 */
export async function chooseAddress(environment: NodeJS.ProcessEnv): Promise<Address> {
  const host = environment['HOST'] || '127.0.0.1';
  const requested = environment['PORT'] || String(DEFAULT_PORT);
  if (!/^\d{1,5}$/.test(requested) || Number(requested) > 65_535) {
    throw new Error(`PORT must be a whole number from 0 to 65535, not ${requested}.`);
  }
  const port = Number(requested) === 0 ? await freePort(0, host) : Number(requested);
  // `localhost` may resolve to either address. Another process on the second one would get half of the requests.
  const hosts = host === '127.0.0.1' ? [host, '::1'] : [host];
  for (const one of hosts) {
    if (await isFree(port, one)) continue;
    throw new Error(
      `Port ${port} on ${one} is already in use. Stop the program that uses it, or choose another port: ` +
        `PORT=${port === DEFAULT_PORT ? DEFAULT_PORT + 1 : DEFAULT_PORT} ${START_COMMAND}`,
    );
  }
  const baseUrl = (environment['BASE_URL'] || `http://localhost:${port}`).replace(/\/+$/, '');
  return { host, port, baseUrl };
}
