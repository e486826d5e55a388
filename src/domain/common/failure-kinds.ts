/**
 * Why an outgoing attempt failed, named by the stage that it got to. The one list for audit log, delivery log,
 * feed and screens.
 */
export const FAILURE_KINDS = [
  /** The address or a header can't be written as an HTTP request; nothing was sent. */
  'invalid_request',
  /** The name has no address, or its name server did not answer. */
  'lookup_failed',
  /** The name leads only to addresses that nothing may be sent to. */
  'address_refused',
  /** No connection could be made. */
  'connection_failed',
  /** The TLS handshake failed, or the certificate is not to be trusted for this name. */
  'tls_failed',
  /** The whole answer was not there within the time limit. */
  'timeout',
  /** The connection was closed before the answer was complete. */
  'connection_closed',
  /** The answer is no valid HTTP. */
  'invalid_response',
  /** The answer is a redirect, and redirects are not followed. */
  'redirect',
  /** The answer has a status outside of 200 to 299. */
  'status',
  /** The service gave the attempt up, for example because it was shutting down. */
  'aborted',
  /** The sending process ended before it could record an answer. */
  'interrupted',
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];
