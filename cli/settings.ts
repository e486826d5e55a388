import { dirname, join } from 'node:path';
import { z } from 'zod';
import { usageError } from './exit-codes.ts';
import { configFolder, readJsonFile, writeSecretJson } from './files.ts';
import type { Credential } from './http.ts';

const DEFAULT_URL = 'http://localhost:3000';

/** What `npm start` writes into the checkout when all is ready, as far as it is needed here. */
const localSchema = z.object({
  base_url: z.string(),
  api_key: z.string(),
  admin_email: z.string(),
  admin_password: z.string(),
});
export type LocalCredentials = z.infer<typeof localSchema>;

/** Sessions by the address of their server. */
const sessionsSchema = z.record(z.string(), z.object({ cookie: z.string(), email: z.string() }));

/** What the command line found to work with. */
export type Settings = {
  baseUrl: string;
  credential: Credential;
  /** Set where the credential is that of the service running in this checkout. */
  local: LocalCredentials | null;
};

/** The checkout that this file is in. */
export const CHECKOUT = dirname(import.meta.dirname);

export const sessionsPath = (env: NodeJS.ProcessEnv) => join(configFolder(env), 'session.json');

/**
 * Where the server is and who is asking: BATON_API_KEY, else the session of `baton login` at this server, else, in a
 * checkout where `npm start` runs, its `.local/credentials.json`. Throws a CliError for an unusable BATON_URL.
 */
export function readSettings(env: NodeJS.ProcessEnv, wantedUrl?: string, checkout = CHECKOUT): Settings {
  const local = readJsonFile(join(checkout, '.local', 'credentials.json'), localSchema);
  const wanted = wantedUrl ?? env.BATON_URL;
  const baseUrl = cleanUrl(wanted || local?.base_url || DEFAULT_URL);
  if (env.BATON_API_KEY) return { baseUrl, credential: { kind: 'key', key: env.BATON_API_KEY }, local: null };
  const session = readJsonFile(sessionsPath(env), sessionsSchema)?.[baseUrl];
  if (session !== undefined)
    return { baseUrl, credential: { kind: 'session', cookie: session.cookie }, local: null };
  if (local !== null && cleanUrl(local.base_url) === baseUrl) {
    return { baseUrl, credential: { kind: 'key', key: local.api_key }, local };
  }
  return { baseUrl, credential: { kind: 'none' }, local: null };
}

/** Keeps a session for a server, or forgets it where `session` is null. */
export function keepSession(
  path: string,
  baseUrl: string,
  session: { cookie: string; email: string } | null,
): void {
  const { [baseUrl]: _old, ...others } = readJsonFile(path, sessionsSchema) ?? {};
  writeSecretJson(path, session === null ? others : { ...others, [baseUrl]: session });
}

/** The session kept in a file for a server. */
export function keptSession(path: string, baseUrl: string): { cookie: string; email: string } | null {
  return readJsonFile(path, sessionsSchema)?.[baseUrl] ?? null;
}

function cleanUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw usageError(`"${text}" is not an http or https address (BATON_URL or --url)`);
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}
