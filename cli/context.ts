import { join } from 'node:path';
import type { Command } from 'commander';
import { usageError } from './exit-codes.ts';
import { type Api, createApi, type Credential } from './http.ts';
import { ioOf } from './io.ts';
import { createOutput, type Output } from './output.ts';
import { signIn } from './sign-in.ts';
import { CHECKOUT, keepSession, keptSession, type LocalCredentials, readSettings } from './settings.ts';

/** What every command may be given on its line. */
export type GlobalOptions = { json?: true; url?: string; verbose?: true };

/** What a command works with. */
export type Context = {
  env: NodeJS.ProcessEnv;
  output: Output;
  /** The service, for whoever is signed in or holds a key. */
  api(): Api;
  /** The service for what only people may do; in a checkout where it runs, as its admin. */
  apiForPeople(): Promise<Api>;
  /** Where requests would go. */
  baseUrl: string;
};

/**
 * Reads options, environment and files; nothing is asked of the server yet. `quiet` where the credential that is found
 * is not what the command will use.
 */
export function contextOf(command: Command, { quiet = false } = {}): Context {
  const { env } = ioOf(command);
  const { url } = command.optsWithGlobals<GlobalOptions>();
  const output = outputOf(command);
  const { baseUrl, credential, local } = readSettings(env, url);
  if (local !== null && !quiet) output.note(`Using .local/credentials.json of this checkout (${baseUrl})`);
  return {
    env,
    output,
    baseUrl,
    api: () => createApi(baseUrl, known(credential)),
    apiForPeople: async () =>
      createApi(baseUrl, local === null ? known(credential) : await asLocalAdmin(baseUrl, local)),
  };
}

/** Where a command writes, without reading any settings. */
export function outputOf(command: Command): Output {
  const { json, verbose } = command.optsWithGlobals<GlobalOptions>();
  return createOutput(json === true, verbose === true, ioOf(command));
}

function known(credential: Credential): Credential {
  if (credential.kind !== 'none') return credential;
  throw usageError('Not signed in. Set BATON_API_KEY or run `baton login`');
}

/** The admin's session, kept beside the credentials so that not every command signs in anew. */
async function asLocalAdmin(baseUrl: string, local: LocalCredentials): Promise<Credential> {
  const path = join(CHECKOUT, '.local', 'cli-session.json');
  const kept = keptSession(path, baseUrl);
  if (kept !== null && (await isAlive(baseUrl, kept.cookie))) return { kind: 'session', cookie: kept.cookie };
  const cookie = await signIn(baseUrl, local.admin_email, local.admin_password);
  keepSession(path, baseUrl, { cookie, email: local.admin_email });
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
