/**
 * Why an outgoing attempt failed, named by the stage that failed. Audit log, delivery log, feed and screens use this
 * list.
 */
export const FAILURE_KINDS = [
  /** The URL or a header cannot be written as an HTTP request; nothing was sent. */
  'invalid_request',
  /** The secret of the webhook cannot be decrypted; nothing was sent. */
  'secret_unreadable',
  /** The name has no address, or its name server did not respond. */
  'lookup_failed',
  /** The name resolves only to addresses that are not allowed. */
  'address_refused',
  /** No connection could be made. */
  'connection_failed',
  /** The TLS handshake failed, or the certificate is not trusted for this name. */
  'tls_failed',
  /** No complete response within the time limit. */
  'timeout',
  /** The connection was closed before the response was complete. */
  'connection_closed',
  /** The response is not valid HTTP. */
  'invalid_response',
  /** The response is a redirect, and redirects are not followed. */
  'redirect',
  /** The response has a status outside of 200 to 299. */
  'status',
  /** The service aborted the attempt, for example during a shutdown. */
  'aborted',
  /** The sending process ended before it could record a response. */
  'interrupted',
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];
