import { hasRole, type Role } from '../../src/domain/people/access.ts';
import type { Member } from '../commands/member.ts';
import type { Change, Part } from './change.ts';
import type { WantedMember } from './schema.ts';
import type { WorkspaceState } from './state.ts';

type Options = {
  prune: boolean;
  /** Id of the person who applies the file; null for a key. */
  userId: string | null;
};

/**
 * Compares members and open invitations. `own` is the change of the caller's own role, which must be the last change of
 * all, because it may take away the permission for the others.
 */
export function planMembers(
  wanted: readonly WantedMember[],
  { members, invitations }: Pick<WorkspaceState, 'members' | 'invitations'>,
  { prune, userId }: Options,
): Part & { own: Change[] } {
  const part: Part = { changes: [], faults: [], notes: [] };
  const own: Change[] = [];
  // After the others, so that an owner can be replaced.
  const lowered: Change[] = [];
  const roles = new Map<string, Role>();
  for (const [index, { email, role }] of wanted.entries()) {
    const path = ['members', index];
    if (roles.has(email)) part.faults.push({ path, message: `Member ${email} is in the file twice.` });
    roles.set(email, role);
    const member = members.find((one) => one.email === email);
    const open = invitations.find((one) => one.email === email);
    if (member === undefined) {
      if (open?.role !== role) part.changes.push(invitation({ email, role }, open?.role ?? null));
    } else if (member.role !== role) {
      const isLess = hasRole(member.role, role);
      const list = member.id === userId ? own : isLess ? lowered : part.changes;
      list.push(roleChange(member, role));
    }
  }
  part.changes.push(...lowered);
  part.faults.push(...ownerFaults(wanted, members, roles));
  if (prune) addDeletions(part, { members, invitations }, roles, userId);
  return { ...part, own };
}

/** An invited owner does not count: the invitation may never be accepted. */
function ownerFaults(
  wanted: readonly WantedMember[],
  members: readonly Member[],
  roles: ReadonlyMap<string, Role>,
): Part['faults'] {
  if (members.some(({ email, role }) => (roles.get(email) ?? role) === 'owner')) return [];
  const owners = members.filter(({ role }) => role === 'owner');
  const index = wanted.findIndex(({ email }) => owners.some((owner) => owner.email === email));
  if (index === -1) return [];
  const message = 'This is the last owner. Another member must become an owner first.';
  return [{ path: ['members', index, 'role'], message }];
}

function addDeletions(
  { changes, notes }: Part,
  { members, invitations }: Pick<WorkspaceState, 'members' | 'invitations'>,
  roles: ReadonlyMap<string, Role>,
  userId: string | null,
): void {
  const superfluous = members.filter(({ email }) => !roles.has(email));
  const removed = superfluous.filter(({ id }) => id !== userId);
  if (removed.length < superfluous.length) notes.push('You are not in the file, and are not removed.');
  const remaining = members.filter((member) => !removed.includes(member));
  const hasOwner = remaining.some(({ email, role }) => (roles.get(email) ?? role) === 'owner');
  const kept = hasOwner ? undefined : oldest(removed.filter(({ role }) => role === 'owner'));
  if (kept !== undefined) notes.push(`${kept.email} is the last owner, and is not removed.`);
  changes.push(
    ...removed
      .filter((member) => member !== kept)
      .map(({ id, email }) => deletion('member', email, `/api/v1/members/${id}`)),
    ...invitations
      .filter(({ email }) => !roles.has(email))
      .map(({ id, email }) => deletion('invitation', email, `/api/v1/invitations/${id}`)),
  );
}

function oldest(members: readonly Member[]): Member | undefined {
  return members.toSorted((one, other) => Date.parse(one.created_at) - Date.parse(other.created_at))[0];
}

function invitation(body: { email: string; role: Role }, before: string | null): Change {
  return {
    action: before === null ? 'create' : 'change',
    kind: 'invitation',
    name: body.email,
    fields: [{ field: 'role', before, after: body.role }],
    request: { method: 'POST', path: '/api/v1/invitations', body },
  };
}

function roleChange({ id, email, role: before }: Member, role: Role): Change {
  return {
    action: 'change',
    kind: 'member',
    name: email,
    fields: [{ field: 'role', before, after: role }],
    request: { method: 'PATCH', path: `/api/v1/members/${id}`, body: { role } },
  };
}

function deletion(kind: 'member' | 'invitation', name: string, path: string): Change {
  return { action: 'delete', kind, name, fields: [], request: { method: 'DELETE', path } };
}
