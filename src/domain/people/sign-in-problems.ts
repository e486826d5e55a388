/**
 * Why a sign-in at the OpenID provider failed, in words for the person. The codes stand in the address of the sign-in
 * page, `/sign-in?problem=<code>`; they are stable.
 */
export const SIGN_IN_PROBLEMS = {
  openid_off: 'Signing in at an identity provider is not set up here.',
  openid_unavailable: 'The identity provider is out of reach right now. Try again in a moment.',
  openid_refused: 'You were not signed in: it was cancelled, or the identity provider did not allow it.',
  openid_expired: 'This sign-in took too long, or began in another browser. Try again.',
  openid_failed:
    "The identity provider's answer could not be trusted. Try again; an admin finds the reason in the log.",
  email_not_verified:
    'The identity provider does not vouch for your e-mail address. Verify it there, then try again.',
  not_invited: 'You are not a member here. Ask an admin to invite your e-mail address.',
  linked_otherwise:
    'Your e-mail address is linked to another account of the identity provider. Ask an admin to remove you and to invite you again.',
  rate_limited: 'There were too many sign-ins from your network. Wait a minute, then try again.',
  unavailable: 'Nobody can be signed in right now. Try again in a moment.',
} as const;
export type SignInProblem = keyof typeof SIGN_IN_PROBLEMS;
