/**
 * Milliseconds, to a tenth. A stage that was not reached is null, and so are connection and TLS where a connection
 * of an earlier attempt was used again.
 */
export type AttemptTimings = {
  lookup_ms: number | null;
  /** TCP, and the proxy's consent where there is one. */
  connect_ms: number | null;
  tls_ms: number | null;
  /** From handing the request over to the answer's headers. */
  first_byte_ms: number | null;
  /** From the start of the attempt to its end. */
  total_ms: number;
};
