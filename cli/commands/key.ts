import { type Command, Option } from 'commander';
import { SCOPES } from '../../src/domain/people/access.ts';
import { contextOf } from '../context.ts';
import { usageError } from '../exit-codes.ts';
import type { Api } from '../http.ts';
import { idOf } from '../ids.ts';
import { fields, table } from '../output.ts';
import type { Page } from '../shapes.ts';
import { ownProject } from '../task-options.ts';
import { addPaging, listAll, moreLine, type Paging } from './paging.ts';

const KEYS = '/api/v1/keys';

export type Key = {
  id: string;
  name: string;
  prefix: string;
  project_id: string;
  scopes: string[];
  creator: { name: string; email: string; removed: boolean } | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  /** The key that replaces it; it stays valid during the overlap. */
  replaced_by: string | null;
};
export type NewKey = Key & { key: string };
type ListOptions = Paging & { project?: string; createdBy?: string; active?: true };

/** `baton key …`, for admins. */
export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('Create and revoke API keys (admins)');
  key
    .command('create')
    .description('Create a key and show it once')
    .requiredOption('--name <text>', 'name of the key')
    .option('--project <id>', 'project; default: the only project')
    .addOption(new Option('--scope <scope...>', 'permissions of the key').choices(SCOPES))
    .option('--expires-at <time>', 'expiration (ISO 8601); default: never')
    .action(
      async (options: { name: string; project?: string; scope?: string[]; expiresAt?: string }, command) => {
        const { apiForPeople, output } = contextOf(command);
        const api = await apiForPeople();
        const { name, scope: scopes, expiresAt: expires_at } = options;
        const project_id = options.project ?? (await ownProject(api));
        const made = await api.call<NewKey>('POST', KEYS, { body: { name, project_id, scopes, expires_at } });
        output.document(made);
        output.line(describeNew(made));
      },
    );
  addPaging(key.command('list').description('List keys, newest first'))
    .option('--project <id>', 'only keys of this project')
    .option('--created-by <member-id>', 'only keys that this person created, even if the person was removed')
    .option('--active', 'only keys that are neither revoked nor expired')
    .action(async (options: ListOptions, command: Command) => {
      const { apiForPeople, output } = contextOf(command);
      const { limit, cursor, project: project_id, createdBy: created_by } = options;
      const active = options.active ? 'true' : undefined;
      const page = await (await apiForPeople()).call<Page<Key>>('GET', KEYS, {
        query: { limit, cursor, project_id, created_by, active },
      });
      output.document(page);
      output.line(describeKeys(page.data) + moreLine(page));
    });
  key
    .command('revoke <key-id>')
    .description('Revoke a key immediately')
    .action(async (id: string, _options: object, command: Command) => {
      const { apiForPeople, output } = contextOf(command);
      await (await apiForPeople()).call('DELETE', `${KEYS}/${idOf('key', id)}`);
      output.document({ id, revoked: true });
      output.line(`${id} revoked`);
    });
  key
    .command('rotate <key-id>')
    .description('Replace a key with a new one')
    .option('--overlap-hours <n>', 'hours until the old key stops working; default: 24')
    .action(async (id: string, options: { overlapHours?: string }, command: Command) => {
      const { apiForPeople, output } = contextOf(command);
      const body = options.overlapHours === undefined ? {} : { overlap_hours: hoursOf(options.overlapHours) };
      const path = `${KEYS}/${idOf('key', id)}/rotate`;
      const made = await (await apiForPeople()).call<NewKey>('POST', path, { body });
      output.document(made);
      output.line(describeNew(made));
    });
}

/** Returns all active keys that a person created. */
export async function activeKeysOf(api: Api, personId: string): Promise<Key[]> {
  return await listAll<Key>(api, KEYS, { created_by: personId, active: 'true' });
}

function hoursOf(text: string): number {
  const hours = Number(text);
  if (text.trim() === '' || !Number.isFinite(hours)) throw usageError('--overlap-hours must be a number');
  return hours;
}

/** Formats a new key, with the key itself. */
export function describeNew(key: NewKey): string {
  return fields([
    ['Key', key.key],
    ['', 'The key is not shown again.'],
    ['Id', key.id],
    ['Name', key.name],
    ['Project', key.project_id],
    ['Scopes', key.scopes.join(', ')],
    ['Expires', key.expires_at],
  ]);
}

/** Returns keys as a table. */
export function describeKeys(keys: readonly Key[]): string {
  if (keys.length === 0) return 'No keys';
  const rows = keys.map((key) => [
    key.id,
    key.prefix,
    key.name,
    key.scopes.join(','),
    key.last_used_at,
    creatorOf(key),
    key.revoked_at ?? key.expires_at,
    key.revoked_at !== null ? 'revoked' : key.replaced_by !== null ? 'replaced' : '',
  ]);
  return table(['KEY', 'PREFIX', 'NAME', 'SCOPES', 'LAST USED', 'CREATED BY', 'EXPIRES', ''], rows);
}

function creatorOf({ creator }: Key): string {
  return creator === null ? '' : `${creator.email}${creator.removed ? ' (removed)' : ''}`;
}
