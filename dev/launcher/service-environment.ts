import type { Secrets } from './secrets.ts';
import type { LocalTls } from './tls.ts';

/** Receivers on this machine are what a newcomer tries first; elsewhere these ranges stay closed. */
const LOOPBACK = '127.0.0.0/8,::1/128';

/** Where the API is found. */
export type Address = { host: string; port: number; baseUrl: string };

/**
 * The environment of our own processes: what the person has set wins, then what the services that run here need, then
 * what suits a single machine.
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

/** An empty variable counts as not given. */
function withoutEmpty(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
}
