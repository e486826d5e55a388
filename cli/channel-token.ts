import { CliError, EXIT } from './exit-codes.ts';
import type { Api } from './http.ts';

/** A token for the live channel. `lifetimeMs` counts from its creation, by the server's clock alone. */
export type Token = { token: string; lifetimeMs: number };

/** Creates a token for one project; default: the project of the key. @throws CliError */
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
  // The local clock may be wrong by more than the lifetime of a token.
  const now = Date.parse(response.headers.get('date') ?? '') || Date.now();
  return { token: made.token, lifetimeMs: Math.max(0, expiresAt - now) };
}
