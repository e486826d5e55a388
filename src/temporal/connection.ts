import { loadClientConnectConfig } from '@temporalio/envconfig';

/** Address and credentials of Temporal, in the form of the SDK's connections. */
export type TemporalConfig = {
  connectionOptions: ReturnType<typeof loadClientConnectConfig>['connectionOptions'];
  namespace: string;
};

/**
 * Loads the connection settings from Temporal's standard environment variables and configuration file
 * (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TLS, API key). An empty variable counts as unset: the SDK would use an empty
 * key as a key and switch TLS on.
 */
export function loadTemporalConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): TemporalConfig {
  const given = Object.entries(environment).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig({
    overrideEnvVars: Object.fromEntries(given),
  });
  return { connectionOptions, namespace };
}
