import { CliError, EXIT } from './exit-codes.ts';
import type { Api } from './http.ts';

/** A token for the live channel; `lifetimeMs` counts from when it was made, by the server's clock alone. */
export type Token = { token: string; lifetimeMs: number };

/** A token for one project; a key's own unless it is given. @throws CliError */
export async function newToken(api: Api, projectId?: string): Promise<Token> {
  const body = projectId === undefined ? {} : { project_id: projectId };
  const response = await api.open('POST', '/api/v1/tokens', { body });
  const made = await (response.json() as Promise<{ token?: unknown; expires_at?: unknown }>).catch(
    () => null,
  );
  const expiresAt = Date.parse(String(made?.expires_at));
  if (typeof made?.token !== 'string' || Number.isNaN(expiresAt)) {
    throw new CliError(EXIT.unavailable, `${api.baseUrl} did not return a token. Check BATON_URL`);
  }
  // Our own clock may be wrong by more than a token lives.
  const now = Date.parse(response.headers.get('date') ?? '') || Date.now();
  return { token: made.token, lifetimeMs: Math.max(0, expiresAt - now) };
}
