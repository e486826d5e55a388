import type { Command } from 'commander';
import { ask, readStdin } from '../ask.ts';
import { contextOf, type Context } from '../context.ts';
import { usageError } from '../exit-codes.ts';
import { createApi } from '../http.ts';
import { idOf } from '../ids.ts';
import { type Io, ioOf } from '../io.ts';
import { table } from '../output.ts';
import { storeSession, storedSession, sessionsPath } from '../settings.ts';
import type { Page } from '../shapes.ts';
import { cookieOf } from '../sign-in.ts';
import { addPaging, moreLine, type Paging } from './paging.ts';

const SESSIONS = '/api/v1/sessions';

type Session = {
  id: string;
  user_agent: string | null;
  address: string | null;
  last_seen_at: string;
  expires_at: string;
  current: boolean;
};

/** `baton session …` and `baton password`, for the user signed in with `baton login`. */
export function addSessionCommands(program: Command): void {
  const session = program.command('session').description('List and end your sessions');
  addPaging(session.command('list').description('List your sessions, newest first')).action(
    async (options: Paging, command: Command) => {
      const { output, api } = signedIn(command);
      const page = await api.call<Page<Session>>('GET', SESSIONS, { query: { ...options } });
      output.document(page);
      const rows = page.data.map((row) => [
        row.id + (row.current ? ' (this)' : ''),
        row.address ?? '',
        row.user_agent ?? '',
        row.last_seen_at,
      ]);
      output.line(table(['SESSION', 'ADDRESS', 'PROGRAM', 'LAST SEEN'], rows) + moreLine(page));
    },
  );
  session
    .command('end <session-id>')
    .description('End one of your sessions')
    .action(async (id: string, _options: object, command: Command) => {
      const { output, api } = signedIn(command);
      await api.call('DELETE', `${SESSIONS}/${idOf('session', id)}`);
      output.document({ id, ended: true });
      output.line(`${id} ended`);
    });
  session
    .command('end-others')
    .description('End all your other sessions')
    .action(async (_options: object, command: Command) => {
      const { output, api } = signedIn(command);
      const { ended } = await api.call<{ ended: number }>('DELETE', SESSIONS);
      output.document({ ended });
      output.line(ended === 1 ? '1 session ended' : `${ended} sessions ended`);
    });
  program
    .command('password')
    .description('Change your password and end your other sessions')
    .option('--password-stdin', 'read the current and the new password from stdin, one per line')
    .action(changePassword);
}

async function changePassword(options: { passwordStdin?: true }, command: Command): Promise<void> {
  const { env, output, baseUrl, api, email } = signedIn(command);
  const [current_password, new_password] = await passwords(options.passwordStdin, ioOf(command));
  const body = { current_password, new_password };
  const response = await api.open('PUT', '/api/v1/me/password', { body });
  // The session continues with a new cookie.
  const cookie = await cookieOf(baseUrl, response);
  storeSession(sessionsPath(env), baseUrl, { cookie, email });
  output.document({ email, changed: true });
  output.line(`Password of ${email} changed. All other sessions ended`);
}

async function passwords(fromStdin: boolean | undefined, io: Io): Promise<[string, string]> {
  if (fromStdin) {
    const [current = '', wanted = ''] = (await readStdin(io)).split(/\r?\n/);
    return [current, wanted];
  }
  const instead = '--password-stdin';
  const current = await ask(io, 'Current password: ', { secret: true, instead });
  const wanted = await ask(io, 'New password: ', { secret: true, instead });
  if ((await ask(io, 'New password again: ', { secret: true, instead })) === wanted) return [current, wanted];
  throw usageError('The new passwords do not match');
}

/** Returns the API for the signed-in user. Keys and the admin of a checkout have no sessions to manage. */
function signedIn(
  command: Command,
): Omit<Context, 'api'> & { api: ReturnType<typeof createApi>; email: string } {
  const context = contextOf(command, { quiet: true });
  const kept = storedSession(sessionsPath(context.env), context.baseUrl);
  if (kept === null) throw usageError('Not signed in. Run `baton login` first');
  const api = createApi(context.baseUrl, { kind: 'session', cookie: kept.cookie });
  return { ...context, api, email: kept.email };
}
