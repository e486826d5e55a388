import { readConfiguration, type Configuration } from './configuration.ts';
import { UNNEEDED_SECRETS, type ProcessName } from './unneeded-secrets.ts';

/** The configuration of a gateway, without the secrets that it does not need. */
export type GatewayConfiguration = Omit<Configuration, 'sealingKeys'>;
/** The configuration of a worker, without the secrets that it does not need. */
export type WorkerConfiguration = Omit<Configuration, 'tokenKeys'>;

type ConfigurationOf = {
  api: Configuration;
  gateway: GatewayConfiguration;
  'task-worker': WorkerConfiguration;
  'delivery-worker': WorkerConfiguration;
  'all-workers': WorkerConfiguration;
};

/**
 * Reads the configuration of one process from its environment, without the secrets that it does not need.
 * @throws ConfigurationError that names all invalid variables
 */
export function readProcessConfiguration<P extends ProcessName>(
  name: P,
  environment: Readonly<Record<string, string | undefined>>,
): ConfigurationOf[P] {
  return readConfiguration(environment, UNNEEDED_SECRETS[name]);
}
