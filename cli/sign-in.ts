import { CliError, EXIT } from './exit-codes.ts';
import { createApi } from './http.ts';

/** The names in `src/security/sessions.ts`. A proxy in front of the service may set others. */
const SESSION_COOKIE = /^(?:__Host-)?baton_session=[^;]+/;

/** Signs in and returns the session cookie as `name=value`. @throws CliError */
export async function signIn(baseUrl: string, email: string, password: string): Promise<string> {
  const api = createApi(baseUrl, { kind: 'none' });
  return await cookieOf(baseUrl, await api.open('POST', '/api/v1/session', { body: { email, password } }));
}

/** Returns the session cookie of a response as `name=value`. @throws CliError (exit code 6) if it has none */
export async function cookieOf(baseUrl: string, response: Response): Promise<string> {
  await response.body?.cancel();
  for (const cookie of response.headers.getSetCookie()) {
    const [pair] = SESSION_COOKIE.exec(cookie) ?? [];
    if (pair !== undefined) return pair;
  }
  throw new CliError(EXIT.unavailable, `${baseUrl} did not return a session. Check BATON_URL`);
}
