import { Argument, type Command, Option } from 'commander';
import { UUID } from '../../src/domain/common/text.ts';
import { ROLES, type Role } from '../../src/domain/people/access.ts';
import { ask, readPassword } from '../ask.ts';
import { contextOf } from '../context.ts';
import { idOf } from '../ids.ts';
import { ioOf, type Io } from '../io.ts';
import { fields, table } from '../output.ts';
import type { Page } from '../shapes.ts';
import { addInvitationCommands } from './invitation.ts';
import { activeKeysOf, describeKeys, type Key } from './key.ts';
import { addPaging, moreLine, type Paging } from './paging.ts';

const MEMBERS = '/api/v1/members';

export type Member = { id: string; email: string; name: string; role: Role; created_at: string };
type RemoveOptions = { revokeKeys?: true; keepKeys?: true };
type CreateOptions = { email: string; name?: string; role: string; passwordStdin?: true };

/** `baton member …` */
export function addMemberCommands(program: Command): void {
  const member = program.command('member').description('Manage members and their roles');
  member
    .command('create')
    .description('Add a member (admins). Without --password-stdin, a password is generated and shown once')
    .requiredOption('--email <address>', 'e-mail address of the member')
    .option('--name <text>', 'name of the member; default: the part of the e-mail address before @')
    .addOption(new Option('--role <role>', 'role of the member').choices(ROLES).makeOptionMandatory())
    .option('--password-stdin', 'read the initial password from stdin')
    .action(async ({ email, name, role, passwordStdin }: CreateOptions, command: Command) => {
      const { apiForPeople, output } = contextOf(command);
      const password = passwordStdin ? await readPassword(true, '', ioOf(command)) : undefined;
      const api = await apiForPeople();
      const body = { email, name, role, password };
      const made = await api.call<Member & { initial_password: string | null }>('POST', MEMBERS, { body });
      output.document(made);
      output.line(
        fields([
          ['Member', made.id],
          ['E-mail', made.email],
          ['Role', made.role],
          ['Initial password', made.initial_password],
        ]),
      );
    });
  addPaging(member.command('list').description('List members, newest first')).action(
    async (options: Paging, command: Command) => {
      const { apiForPeople, output } = contextOf(command);
      const page = await (await apiForPeople()).call<Page<Member>>('GET', MEMBERS, { query: { ...options } });
      output.document(page);
      const rows = page.data.map(({ id, email, name, role, created_at }) => [
        id,
        email,
        name,
        role,
        created_at,
      ]);
      output.line(table(['MEMBER', 'E-MAIL', 'NAME', 'ROLE', 'SINCE'], rows) + moreLine(page));
    },
  );
  addInvitationCommands(member);
  member
    .command('remove <member-id>')
    .description(
      'Remove a member (admins). Lists the keys that the member created, and asks whether to revoke them',
    )
    .option('--revoke-keys', 'revoke the keys that the member created')
    .addOption(new Option('--keep-keys', 'keep them; the default without a terminal').conflicts('revokeKeys'))
    .action(async (id: string, options: RemoveOptions, command: Command) => {
      const path = `${MEMBERS}/${idOf('member', id)}`;
      const { apiForPeople, output } = contextOf(command);
      const api = await apiForPeople();
      // The removal rejects any other id as it rejects an unknown one.
      const keys = UUID.test(id.toLowerCase()) ? await activeKeysOf(api, id) : [];
      const isRevoking = await revokesKeys(options, keys, ioOf(command));
      await api.call('DELETE', path, { query: { revoke_keys: isRevoking ? 'true' : undefined } });
      output.document({ id, removed: true, keys_revoked: isRevoking, keys });
      output.line(`${id} removed`);
      if (keys.length === 0) return;
      const outcome = isRevoking ? 'These keys are revoked:' : 'These keys of the member are still valid:';
      output.line(`\n${outcome}\n${describeKeys(keys)}`);
    });
  member
    .command('set-role <member-id>')
    .description("Change a member's role (admins)")
    .addArgument(new Argument('<role>').choices(ROLES))
    .action(async (id: string, role: string, _options: object, command: Command) => {
      const { apiForPeople, output } = contextOf(command);
      const path = `${MEMBERS}/${idOf('member', id)}`;
      const changed = await (await apiForPeople()).call<Member>('PATCH', path, { body: { role } });
      output.document(changed);
      output.line(`${changed.email} is now ${changed.role}`);
    });
}

/** Returns whether to revoke the member's keys. Asks in a terminal if no option decides it. */
async function revokesKeys(options: RemoveOptions, keys: readonly Key[], io: Io): Promise<boolean> {
  if (options.revokeKeys) return true;
  if (options.keepKeys || keys.length === 0 || !io.stdin.isTTY) return false;
  io.stderr.write(`The member created these keys:\n${describeKeys(keys)}\n`);
  const answer = await ask(io, 'Revoke them, too? [Y/n] ', { instead: '--revoke-keys or --keep-keys' });
  return !/^\s*n/i.test(answer);
}
