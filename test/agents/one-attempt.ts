/** The retries of a step that is attempted once. */
export const ONE_ATTEMPT = {
  maximum_attempts: 1,
  initial_interval_ms: 1,
  backoff_coefficient: 1,
  maximum_interval_ms: 1,
};
