import { CliError, EXIT } from './exit-codes.ts';
import { createApi } from './http.ts';

/** Signs in and returns the session cookie as `name=value`. */
export async function signIn(baseUrl: string, email: string, password: string): Promise<string> {
  const api = createApi(baseUrl, { kind: 'none' });
  const response = await api.open('POST', '/api/v1/session', { body: { email, password } });
  const [cookie] = response.headers.getSetCookie();
  await response.body?.cancel();
  if (cookie === undefined)
    throw new CliError(EXIT.unavailable, `${baseUrl} did not return a session. Check BATON_URL`);
  return cookie.split(';')[0] ?? '';
}
