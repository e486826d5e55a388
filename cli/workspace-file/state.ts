import type { Invitation } from '../commands/invitation.ts';
import type { Key } from '../commands/key.ts';
import type { Member } from '../commands/member.ts';
import type { Project } from '../commands/project.ts';
import type { Webhook } from '../shapes.ts';

/** What a workspace consists of. Only members have open invitations. */
export const PARTS = ['projects', 'members', 'invitations', 'keys', 'webhooks'] as const;
export type WorkspacePart = (typeof PARTS)[number];

/** The objects of a workspace that a file can describe. A part that was not read is empty. */
export type WorkspaceState = {
  projects: readonly Project[];
  members: readonly Member[];
  /** Open invitations. */
  invitations: readonly Invitation[];
  /** Keys that are valid and not replaced. */
  keys: readonly Key[];
  /** Webhooks except those of `baton listen`. */
  webhooks: readonly Webhook[];
};

/** Returns the objects without temporary ones: keys whose overlap with a new key has not ended, webhooks of listeners. */
export function withoutTemporary(state: WorkspaceState): WorkspaceState {
  return {
    ...state,
    keys: state.keys.filter(({ replaced_by }) => replaced_by === null),
    webhooks: state.webhooks.filter(({ listening }) => !listening),
  };
}
