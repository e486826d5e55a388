import { join } from 'node:path';
import { z } from 'zod';
import { isLoopback } from '../src/domain/common/loopback.ts';
import { usageError } from './exit-codes.ts';
import { configFolder, readJsonFile, writeSecretJson } from './files.ts';
import type { Credential } from './http.ts';
import { localFolder } from './local-service.ts';

const DEFAULT_URL = 'http://localhost:3000';

/** The part of the credentials file of the local service that is used here. */
const localSchema = z.object({
  base_url: z.string(),
  api_key: z.string(),
  admin_email: z.string(),
  admin_password: z.string(),
});
export type LocalCredentials = z.infer<typeof localSchema>;

/** Sessions by server URL. */
const sessionsSchema = z.record(z.string(), z.object({ cookie: z.string(), email: z.string() }));

/** The settings of the command line. */
export type Settings = {
  baseUrl: string;
  credential: Credential;
  /** Set if the credential belongs to the service that runs in this checkout or folder. */
  local: LocalCredentials | null;
};

export const sessionsPath = (env: NodeJS.ProcessEnv) => join(configFolder(env), 'session.json');

/**
 * Returns the server and the credential: BATON_API_KEY, otherwise the session of `baton login` at this server,
 * otherwise the `credentials.json` of a running local service in `folder`. Throws a CliError for an invalid BATON_URL.
 *
 * Anybody may have written a file in the current folder. Its address gets only its own credentials, unless it is on this
 * machine. `quiet`: the caller does not use the credential.
 */
export function readSettings(
  env: NodeJS.ProcessEnv,
  wantedUrl?: string,
  { folder = localFolder(env), quiet = false }: { folder?: string; quiet?: boolean } = {},
): Settings {
  const wanted = (wantedUrl ?? env.BATON_URL) || null;
  const key = env.BATON_API_KEY || null;
  const readLocal = () => readJsonFile(join(folder, 'credentials.json'), localSchema);
  const local = wanted !== null && key !== null ? null : readLocal();
  const localUrl = local && cleanUrl(local.base_url);
  const isNear = localUrl !== null && isLoopback(new URL(localUrl).hostname);
  const baseUrl = cleanUrl(wanted ?? (isNear ? localUrl : DEFAULT_URL));
  if (key !== null) return { baseUrl, credential: { kind: 'key', key }, local: null };
  const session = readJsonFile(sessionsPath(env), sessionsSchema)?.[baseUrl];
  if (session !== undefined)
    return { baseUrl, credential: { kind: 'session', cookie: session.cookie }, local: null };
  if (local !== null && localUrl !== null && !quiet && (wanted === null || localUrl === baseUrl))
    return { baseUrl: localUrl, credential: { kind: 'key', key: local.api_key }, local };
  return { baseUrl, credential: { kind: 'none' }, local: null };
}

/** Stores a session of a server, or deletes it if `session` is null. */
export function storeSession(
  path: string,
  baseUrl: string,
  session: { cookie: string; email: string } | null,
): void {
  const { [baseUrl]: _old, ...others } = readJsonFile(path, sessionsSchema) ?? {};
  writeSecretJson(path, session === null ? others : { ...others, [baseUrl]: session });
}

/** Returns the stored session of a server. */
export function storedSession(path: string, baseUrl: string): { cookie: string; email: string } | null {
  return readJsonFile(path, sessionsSchema)?.[baseUrl] ?? null;
}

function cleanUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw usageError(`"${text}" is not an http or https address (BATON_URL or --url)`);
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}
