import type { FailureKind } from '../domain/common/failure-kinds.ts';

/** Ends an attempt with a failure kind and a sentence for people. */
export class OutboundFailure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string) {
    super(message);
    this.name = 'OutboundFailure';
    this.kind = kind;
  }
}

/** Returns the `code` of an error of Node or undici, or an empty string. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

/** Returns the failure of a DNS lookup. */
export function lookupFailure(error: unknown): OutboundFailure {
  const code = codeOf(error);
  const sentence =
    code === 'ENOTFOUND' || code === 'ENODATA'
      ? 'The host name has no address'
      : `DNS lookup failed${inBrackets(code)}`;
  return new OutboundFailure('lookup_failed', sentence);
}

const CONNECTION_SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Connection refused',
  ECONNRESET: 'The connection was reset during the TCP handshake',
  EHOSTUNREACH: 'The address is unreachable',
  ENETUNREACH: 'The network of the address is unreachable',
  EADDRNOTAVAIL: 'This machine has no route to the address',
  ETIMEDOUT: 'The address did not respond',
};

/** Returns the failure of a TCP connection. */
export function connectionFailure(error: unknown): OutboundFailure {
  const code = codeOf(error);
  return new OutboundFailure(
    'connection_failed',
    CONNECTION_SENTENCES[code] ?? `Connection failed${inBrackets(code)}`,
  );
}

const TLS_SENTENCES: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another host',
  CERT_HAS_EXPIRED: 'The certificate has expired',
  CERT_NOT_YET_VALID: 'The certificate is not valid yet',
  CERT_REVOKED: 'The certificate has been revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate authority is not trusted',
  UNABLE_TO_GET_ISSUER_CERT: 'The certificate authority is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'The certificate authority is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The certificate authority is not trusted',
  ECONNRESET: 'The connection was closed during the TLS handshake',
};

/** Returns the failure of a TLS handshake or of the certificate check. */
export function tlsFailure(error: unknown): OutboundFailure {
  const code = codeOf(error);
  return new OutboundFailure(
    'tls_failed',
    TLS_SENTENCES[code] ?? `The TLS handshake failed${inBrackets(code)}`,
  );
}

const CLOSED = new Set(['UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'UND_ERR_INFO']);
const CLOSED_BY_SYSTEM = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT']);

/** Returns the failure of an interrupted exchange. `answering`: whether the response headers had arrived. */
export function exchangeFailure(error: unknown, answering: boolean): OutboundFailure {
  if (error instanceof OutboundFailure) return error;
  const code = codeOf(error);
  if (code === 'UND_ERR_INVALID_ARG')
    return new OutboundFailure('invalid_request', 'A header is not valid in an HTTP request');
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return new OutboundFailure('invalid_response', 'The response headers are too large');
  if (error instanceof Error && error.message === 'bad upgrade') {
    return new OutboundFailure('invalid_response', 'The response switches to another protocol');
  }
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' && !answering) {
    return new OutboundFailure('invalid_response', 'The response has contradictory lengths');
  }
  if (CLOSED.has(code) || CLOSED_BY_SYSTEM.has(code) || code === 'HPE_INVALID_EOF_STATE') {
    const when = answering ? 'before the response was complete' : 'before a response';
    return new OutboundFailure('connection_closed', `The connection was closed ${when}`);
  }
  return new OutboundFailure('invalid_response', `The response is not valid HTTP${inBrackets(code)}`);
}

/** Returns the failure of a status; null for 2xx (docs/callbacks.md). */
export function statusFailure(status: number): OutboundFailure | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) {
    return new OutboundFailure('redirect', `The response is a redirect (${status}) and is not followed`);
  }
  return new OutboundFailure('status', `The response has status ${status}`);
}

function inBrackets(code: string): string {
  return code === '' ? '' : ` (${code})`;
}
