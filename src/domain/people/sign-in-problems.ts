/**
 * Why an OpenID sign-in failed, as messages for the person. The codes appear in the address of the sign-in page,
 * `/sign-in?problem=<code>`, and are stable.
 */
export const SIGN_IN_PROBLEMS = {
  openid_off: 'Single sign-on is not configured.',
  openid_unavailable: 'The identity provider is unavailable. Try again in a moment.',
  openid_refused: 'Sign-in was cancelled, or the identity provider refused it.',
  openid_expired: 'The sign-in expired or was started in another browser. Try again.',
  openid_failed:
    'The identity provider returned an invalid response. Try again, or ask an operator to check the server log.',
  email_not_verified:
    'The identity provider has not verified your e-mail address. Verify it there, then try again.',
  not_invited: 'You are not a member of any workspace. Ask an admin to invite your e-mail address.',
  linked_otherwise:
    'Your e-mail address is linked to another account at the identity provider. Ask an admin to remove you and invite you again.',
  rate_limited: 'Too many sign-in attempts from your network. Wait a minute, then try again.',
  unavailable: 'Sign-in is unavailable. Try again in a moment.',
} as const;
export type SignInProblem = keyof typeof SIGN_IN_PROBLEMS;
