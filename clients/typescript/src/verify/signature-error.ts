/** Why a body is not to be believed. Stable. */
export type SignatureReason =
  /** There is no signature. */
  | 'missing_signature'
  /** The signature, or the time it covers, is not written as it should be. */
  | 'malformed_signature'
  /** The signature is of another body, or made with another secret. */
  | 'mismatch'
  /** A signed time was asked for, and there is none. */
  | 'missing_timestamp'
  /** It was signed longer ago than is allowed. */
  | 'too_old'
  /** It was signed in a future that is further away than clocks may differ. */
  | 'too_new'
  /** It is genuine, and no JSON of the shape that it should have. */
  | 'unexpected_body';

/** A request is not from Baton, or too old. Answer 401, and look at nothing in it. */
export class SignatureError extends Error {
  override name = 'SignatureError';
  readonly reason: SignatureReason;

  constructor(reason: SignatureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
