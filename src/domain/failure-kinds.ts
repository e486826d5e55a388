/**
 * Why an outgoing attempt failed, named by the stage that it got to. The one list for audit log, delivery log,
 * feed and screens.
 */
export const FAILURE_KINDS = [
  'invalid_request',
  'lookup_failed',
  'address_refused',
  'connection_failed',
  'tls_failed',
  'timeout',
  'connection_closed',
  'invalid_response',
  'redirect',
  'status',
  'aborted',
  'interrupted',
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** What each kind means, for people. */
export const FAILURE_MEANINGS: Readonly<Record<FailureKind, string>> = {
  invalid_request: 'The address or a header cannot be written as an HTTP request; nothing was sent',
  lookup_failed: 'The name has no address, or its name server did not answer',
  address_refused: 'The name leads only to addresses that nothing may be sent to',
  connection_failed: 'No connection could be made',
  tls_failed: 'The TLS handshake failed, or the certificate is not to be trusted for this name',
  timeout: 'The whole answer was not there within the time limit',
  connection_closed: 'The connection was closed before the answer was complete',
  invalid_response: 'The answer is no valid HTTP',
  redirect: 'The answer is a redirect, and redirects are not followed',
  status: 'The answer has a status outside of 200 to 299',
  aborted: 'The service gave the attempt up, for example because it was shutting down',
  interrupted: 'The sending process ended before it could record an answer',
};
