import { basename, join } from 'node:path';
import type { Command } from 'commander';
import { usageError } from './exit-codes.ts';
import { type Api, createApi, type Credential } from './http.ts';
import { ioOf } from './io.ts';
import { localFolder } from './local-service.ts';
import { createOutput, type Output } from './output.ts';
import { signIn } from './sign-in.ts';
import { storeSession, storedSession, type LocalCredentials, readSettings } from './settings.ts';

/** Options of all commands. */
export type GlobalOptions = { json?: true; url?: string; verbose?: true };

/** The context of a command. */
export type Context = {
  env: NodeJS.ProcessEnv;
  output: Output;
  /** The API with the credential of the signed-in user or the key. */
  api(): Api;
  /** The API for routes that require a user; with a running local service, as its admin. */
  apiForPeople(): Promise<Api>;
  /** The URL of the server. */
  baseUrl: string;
};

/**
 * Reads options, environment and files; sends no request. `quiet` if the command does not use the found credential.
 */
export function contextOf(command: Command, { quiet = false } = {}): Context {
  const { env } = ioOf(command);
  const { url } = command.optsWithGlobals<GlobalOptions>();
  const output = outputOf(command);
  const { baseUrl, credential, local } = readSettings(env, url, { quiet });
  if (local !== null) output.note(`Using ${basename(localFolder(env))}/credentials.json (${baseUrl})`);
  return {
    env,
    output,
    baseUrl,
    api: () => createApi(baseUrl, known(credential)),
    apiForPeople: async () =>
      createApi(
        baseUrl,
        local === null ? known(credential) : await asLocalAdmin(baseUrl, local, localFolder(env)),
      ),
  };
}

/** Returns the output of a command without reading settings. */
export function outputOf(command: Command): Output {
  const { json, verbose } = command.optsWithGlobals<GlobalOptions>();
  return createOutput(json === true, verbose === true, ioOf(command));
}

function known(credential: Credential): Credential {
  if (credential.kind !== 'none') return credential;
  throw usageError('Not signed in. Set BATON_API_KEY or run `baton login`');
}

/** Returns the admin's session, stored next to the credentials so that not every command signs in again. */
async function asLocalAdmin(baseUrl: string, local: LocalCredentials, folder: string): Promise<Credential> {
  const path = join(folder, 'cli-session.json');
  const kept = storedSession(path, baseUrl);
  if (kept !== null && (await isAlive(baseUrl, kept.cookie))) return { kind: 'session', cookie: kept.cookie };
  const cookie = await signIn(baseUrl, local.admin_email, local.admin_password);
  storeSession(path, baseUrl, { cookie, email: local.admin_email });
  return { kind: 'session', cookie };
}

async function isAlive(baseUrl: string, cookie: string): Promise<boolean> {
  return createApi(baseUrl, { kind: 'session', cookie })
    .call('GET', '/api/v1/session')
    .then(
      () => true,
      () => false,
    );
}
