import { DEFAULT_SCOPES } from '../../src/domain/people/key-plan.ts';
import type { Key } from '../commands/key.ts';
import { titleOf, type Change, type Part } from './change.ts';
import { resolveProject, type KnownProject } from './plan-projects.ts';
import type { WantedKey } from './schema.ts';
import type { WorkspaceState } from './state.ts';

type Options = {
  prune: boolean;
  now: Date;
  /** Id of the key that the file is applied with; null for a person. */
  keyId: string | null;
  /** The projects after the changes. */
  known: readonly KnownProject[];
};

/** Compares keys by project and name. The API can create and revoke keys, but not change them. */
export function planKeys(
  wanted: readonly WantedKey[],
  state: Pick<WorkspaceState, 'keys' | 'projects'>,
  { prune, now, keyId, known }: Options,
): Part {
  const part: Part = { changes: [], faults: [], notes: [] };
  const projects = new Map(state.projects.map(({ id, key }) => [id, key]));
  const existing = Map.groupBy(state.keys, (key) => titleOfKey(key.name, projects.get(key.project_id)));
  const seen = new Set<string>();
  for (const [index, key] of wanted.entries()) {
    const project = resolveProject(key.project, known);
    if ('fault' in project) {
      part.faults.push({ path: ['keys', index, 'project'], message: project.fault });
      continue;
    }
    const title = titleOfKey(key.name, project.key);
    const message = seen.has(title)
      ? `The file contains ${title} twice.`
      : faultOf(title, key, existing.get(title) ?? [], now);
    seen.add(title);
    if (message !== null) part.faults.push({ path: ['keys', index], message });
    else if (!existing.has(title)) part.changes.push(creation(key, project.key));
  }
  if (!prune) return part;
  for (const key of state.keys) {
    const project = projects.get(key.project_id);
    const title = titleOfKey(key.name, project);
    if (seen.has(title)) continue;
    if (key.id === keyId)
      part.notes.push(`The file is applied with the ${title}, which is therefore not revoked.`);
    else part.changes.push(deletion(key, project));
  }
  return part;
}

function titleOfKey(name: string, project = 'unknown'): string {
  return titleOf({ kind: 'key', name, project });
}

function faultOf(
  title: string,
  { scopes, expires_at }: WantedKey,
  [found, ...others]: readonly Key[],
  now: Date,
): string | null {
  if (found === undefined) {
    if (expires_at === undefined || expires_at > now) return null;
    return `The ${title} has expired. Remove it from the file, or set a later \`expires_at\` for a new key.`;
  }
  if (others.length > 0) {
    const ids = [found, ...others].map(({ id }) => id).join(', ');
    return `The workspace has several of ${title}: ${ids}. Revoke all except one.`;
  }
  const differences = [
    sorted(scopes ?? DEFAULT_SCOPES) === sorted(found.scopes) ? [] : [`scopes ${found.scopes.join(', ')}`],
    timeOf(expires_at) === timeOf(found.expires_at) ? [] : [`expires_at ${found.expires_at ?? 'not set'}`],
  ].flat();
  if (differences.length === 0) return null;
  return (
    `The ${title} exists with ${differences.join(' and ')}, and a key cannot be changed. ` +
    'Add a key with another name, and remove this one when no program uses it anymore.'
  );
}

function sorted(scopes: readonly string[]): string {
  return scopes.toSorted().join();
}

function timeOf(time: Date | string | null | undefined): number | null {
  return time ? new Date(time).getTime() : null;
}

function creation({ name, scopes, expires_at }: WantedKey, project: string): Change {
  const until = expires_at?.toISOString();
  const given = (scopes ?? DEFAULT_SCOPES).join(', ');
  return {
    action: 'create',
    kind: 'key',
    name,
    project,
    fields: [
      { field: 'scopes', before: null, after: given },
      ...(until === undefined ? [] : [{ field: 'expires_at', before: null, after: until }]),
    ],
    request: {
      method: 'POST',
      path: '/api/v1/keys',
      body: { name, scopes: [...(scopes ?? DEFAULT_SCOPES)], expires_at: until },
    },
  };
}

function deletion({ id, name }: Key, project = 'unknown'): Change {
  return {
    action: 'delete',
    kind: 'key',
    name,
    project,
    fields: [],
    request: { method: 'DELETE', path: `/api/v1/keys/${id}` },
  };
}
