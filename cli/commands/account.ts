import type { Command } from 'commander';
import type { Role } from '../../src/domain/people/access.ts';
import { ask, readPassword } from '../ask.ts';
import { contextOf } from '../context.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import { createApi } from '../http.ts';
import { ioOf } from '../io.ts';
import { fields } from '../output.ts';
import { storeSession, storedSession, sessionsPath } from '../settings.ts';
import { signIn } from '../sign-in.ts';

/** The caller, as `GET /api/v1/me` describes it. */
export type Me = {
  kind: 'key' | 'token' | 'person';
  label: string;
  workspace: { id: string; name: string };
  project: { id: string; name: string } | null;
  scopes: string[];
  role: Role | null;
  user: { id: string } | null;
  key: { id: string } | null;
};

/** `baton login`, `logout`, `whoami`. */
export function addAccountCommands(program: Command): void {
  program
    .command('login')
    .description('Sign in with e-mail and password and store the session for later commands')
    .option('--email <address>', 'your e-mail address')
    .option('--password-stdin', 'read the password from stdin')
    .action(async (options: { email?: string; passwordStdin?: true }, command: Command) => {
      const { env, output, baseUrl } = contextOf(command, { quiet: true });
      const email = options.email ?? (await ask(ioOf(command), 'E-mail: ', { instead: '--email' }));
      const password = await readPassword(options.passwordStdin, 'Password: ', ioOf(command));
      const cookie = await signIn(baseUrl, email, password);
      storeSession(sessionsPath(env), baseUrl, { cookie, email });
      output.document({ base_url: baseUrl, email });
      output.line(`Signed in at ${baseUrl} as ${email}`);
      if (env.BATON_API_KEY) output.note('BATON_API_KEY is set and takes precedence over this session');
    });
  program
    .command('logout')
    .description('End the session of `baton login`')
    .action(async (_options: object, command: Command) => {
      const { env, output, baseUrl } = contextOf(command, { quiet: true });
      const kept = storedSession(sessionsPath(env), baseUrl);
      if (kept !== null) await endSession(baseUrl, kept.cookie);
      storeSession(sessionsPath(env), baseUrl, null);
      output.document({ base_url: baseUrl, signed_in: false });
      output.line(kept === null ? `Not signed in at ${baseUrl}` : `Signed out of ${baseUrl}`);
    });
  program
    .command('whoami')
    .description('Show the user or key that commands run as')
    .action(async (_options: object, command: Command) => {
      const { api, output, baseUrl } = contextOf(command);
      const me = await api().call<Me>('GET', '/api/v1/me');
      output.document(me);
      output.line(
        fields([
          ['Server', baseUrl],
          ['Caller', me.label],
          ['Role', me.role],
          ['Workspace', me.workspace.name],
          ['Project', me.project && `${me.project.name} (${me.project.id})`],
          ['Scopes', me.scopes.join(', ')],
        ]),
      );
    });
}

/** A session that the server does not know has already ended. */
async function endSession(baseUrl: string, cookie: string): Promise<void> {
  const api = createApi(baseUrl, { kind: 'session', cookie });
  await api.call('DELETE', '/api/v1/session').catch((error: unknown) => {
    if (!(error instanceof CliError && error.exitCode === EXIT.refused)) throw error;
  });
}
