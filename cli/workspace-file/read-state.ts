import { listAll } from '../commands/paging.ts';
import type { Api } from '../http.ts';
import type { WorkspacePart, WorkspaceState } from './state.ts';

const LISTS: Record<WorkspacePart, { path: string; query: Record<string, string> }> = {
  projects: { path: '/api/v1/projects', query: {} },
  members: { path: '/api/v1/members', query: {} },
  invitations: { path: '/api/v1/invitations', query: { status: 'open' } },
  keys: { path: '/api/v1/keys', query: { active: 'true' } },
  webhooks: { path: '/api/v1/webhooks', query: {} },
};

/** Reads these parts of the workspace of the credential. The others are empty. */
export async function readState(api: Api, parts: readonly WorkspacePart[]): Promise<WorkspaceState> {
  const read = async <T>(part: WorkspacePart): Promise<T[]> =>
    parts.includes(part) ? await listAll<T>(api, LISTS[part].path, LISTS[part].query) : [];
  const [projects, members, invitations, keys, webhooks] = await Promise.all([
    read<WorkspaceState['projects'][number]>('projects'),
    read<WorkspaceState['members'][number]>('members'),
    read<WorkspaceState['invitations'][number]>('invitations'),
    read<WorkspaceState['keys'][number]>('keys'),
    read<WorkspaceState['webhooks'][number]>('webhooks'),
  ]);
  return { projects, members, invitations, keys, webhooks };
}
