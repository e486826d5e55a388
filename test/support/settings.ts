import { randomBytes } from 'node:crypto';
import { services } from './services.ts';

/**
 * Returns the settings of a service on this database and the services of this run, with separate task queues and keys. The
 * service may send to this machine, and trusts the authority of the run's certificates.
 */
export function settingsOn(databaseUrl: string) {
  return {
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: services().temporalAddress,
    TEMPORAL_NAMESPACE: services().namespace,
    BATON_TASK_QUEUE: `test-${randomBytes(4).toString('hex')}`,
    BATON_SEALING_KEYS: newKeyRing(),
    BATON_TOKEN_KEYS: newKeyRing(),
    OUTBOUND_ALLOW: '127.0.0.0/8,::1/128',
    OUTBOUND_CA_FILE: services().tlsFiles.ca,
  };
}

/** Returns a key ring with one new key. */
function newKeyRing(): string {
  return `test:${randomBytes(32).toString('base64')}`;
}
