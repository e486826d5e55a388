/** Why a request is rejected. The values are stable. */
export type SignatureReason =
  /** The request has no signature. */
  | 'missing_signature'
  /** The format of the signature, of its timestamp or of its id is invalid. */
  | 'malformed_signature'
  /** The signature does not match the body, or was created with another secret. */
  | 'mismatch'
  /** A signed timestamp is required, and the request has none. */
  | 'missing_timestamp'
  /** The request was signed longer ago than `toleranceSeconds` allows. */
  | 'too_old'
  /** The signed timestamp is further in the future than `toleranceSeconds` allows. */
  | 'too_new'
  /** The signature is valid, but the body is not valid JSON with the expected fields. */
  | 'unexpected_body';

/** A request does not come from Baton, or is too old. Respond with 401 and ignore its content. */
export class SignatureError extends Error {
  override name = 'SignatureError';
  readonly reason: SignatureReason;

  constructor(reason: SignatureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
