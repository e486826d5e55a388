/** Every request that the service limits by `SIGN_INS_PER_MINUTE`. */
export const SIGN_INS: readonly [method: string, path: string][] = [
  ['POST', '/api/v1/session'],
  ['PUT', '/api/v1/me/password'],
  ['POST', '/api/v1/invitations/accept'],
];
