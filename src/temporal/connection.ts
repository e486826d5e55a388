import { loadClientConnectConfig } from '@temporalio/envconfig';

/** Where Temporal is, and how it is reached; as the SDK's connections take it. */
export type TemporalConfig = {
  connectionOptions: ReturnType<typeof loadClientConnectConfig>['connectionOptions'];
  namespace: string;
};

/**
 * As Temporal's standard environment and its configuration file say (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TLS, API key).
 * An empty variable counts as not given: the SDK would take an empty key for a key, and switch TLS on.
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
