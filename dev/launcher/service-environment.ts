import type { Secrets } from './secrets.ts';
import type { LocalTls } from './tls.ts';

/** New users first try receivers on this machine. Other installations must allow loopback addresses explicitly. */
const LOOPBACK = '127.0.0.0/8,::1/128';

/** The address of the API. */
export type Address = { host: string; port: number; baseUrl: string };

/**
 * Returns the environment of our own processes: defaults for a single machine, then the variables that are set, then
 * those of the started services. Later ones win.
 */
export function serviceEnvironment(
  given: NodeJS.ProcessEnv,
  backing: NodeJS.ProcessEnv,
  local: { address: Address; secrets: Secrets; tls: LocalTls },
): NodeJS.ProcessEnv {
  return {
    BATON_SEALING_KEYS: local.secrets.sealing_keys,
    BATON_TOKEN_KEYS: local.secrets.token_keys,
    OUTBOUND_ALLOW: LOOPBACK,
    OUTBOUND_CA_FILE: local.tls.ca,
    BASE_URL: local.address.baseUrl,
    ...withoutEmpty(given),
    ...backing,
    HOST: local.address.host,
    PORT: String(local.address.port),
  };
}

/** Removes empty variables, which count as missing. */
function withoutEmpty(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
}
