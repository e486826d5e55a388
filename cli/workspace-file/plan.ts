import type { Change, Fault } from './change.ts';
import { planKeys } from './plan-keys.ts';
import { planMembers } from './plan-members.ts';
import { planProjects } from './plan-projects.ts';
import { planWebhooks } from './plan-webhooks.ts';
import type { WorkspaceFile } from './schema.ts';
import { withoutTemporary, type WorkspacePart, type WorkspaceState } from './state.ts';

/** The credential that a file is applied with: of a person, of a key, or in a checkout of both. */
export type Credentials = { userId: string | null; keyId: string | null };

export type PlanOptions = Credentials & {
  /** Whether to delete what the lists of the file do not contain. */
  prune: boolean;
  now: Date;
};

/** What to do, in this order; what cannot be done; what will not be done. */
export type Plan = { changes: Change[]; faults: Fault[]; notes: string[] };

/** Returns the parts of a workspace that a file is compared with. */
export function partsOf({ projects, members, keys, webhooks }: WorkspaceFile): WorkspacePart[] {
  return [
    ...(projects || keys ? (['projects'] as const) : []),
    ...(members ? (['members', 'invitations'] as const) : []),
    ...(keys ? (['keys'] as const) : []),
    ...(webhooks ? (['webhooks'] as const) : []),
  ];
}

/**
 * Compares a file with a workspace. Lists that the file omits are ignored. Objects are created before others are deleted,
 * so that a replaced webhook or key has no gap: projects, members, keys, webhooks; then deletions in the opposite order.
 */
export function planChanges(file: WorkspaceFile, current: WorkspaceState, options: PlanOptions): Plan {
  const { prune, now, userId, keyId } = options;
  const state = withoutTemporary(current);
  const projects = planProjects(file.projects ?? [], state.projects, {
    prune: prune && file.projects !== undefined,
  });
  const members = file.members && planMembers(file.members, state, { prune, userId });
  const keys = file.keys && planKeys(file.keys, state, { prune, now, keyId, known: projects.known });
  const webhooks = file.webhooks && planWebhooks(file.webhooks, state.webhooks, { prune });
  const parts = [projects, members, keys, webhooks].filter((part) => part !== undefined);
  const changes = parts.flatMap((part) => part.changes);
  const deletions = changes.filter(({ action }) => action === 'delete');
  const others = changes.filter(({ action }) => action !== 'delete');
  return {
    changes: [...others, ...deletions.toReversed(), ...(members?.own ?? [])],
    faults: parts.flatMap((part) => part.faults),
    notes: parts.flatMap((part) => part.notes),
  };
}
