import { projectKeyFrom } from '../../src/domain/common/text.ts';
import type { Part } from './change.ts';
import type { WantedProject } from './schema.ts';
import type { WorkspaceState } from './state.ts';

/** A project that exists or is about to be created. */
export type KnownProject = { key: string; name: string };

/** Compares projects. `known`: the projects after the changes. The API can create projects, but not change or delete them. */
export function planProjects(
  wanted: readonly WantedProject[],
  existing: WorkspaceState['projects'],
  { prune }: { prune: boolean },
): Part & { known: KnownProject[] } {
  const part: Part = { changes: [], faults: [], notes: [] };
  const created: KnownProject[] = [];
  const seen = new Set<string>();
  for (const [index, project] of wanted.entries()) {
    const found = findProject(project, existing);
    const key = found.key ?? project.key ?? projectKeyFrom(project.name);
    const message = seen.has(key) ? `Project ${key} is in the file twice.` : found.fault;
    seen.add(key);
    if (message !== null) part.faults.push({ path: ['projects', index], message });
    else if (found.key === null) created.push({ key, name: project.name });
  }
  const missing = existing.filter(({ key }) => !seen.has(key));
  if (prune)
    part.notes.push(
      ...missing.map(({ key }) => `Project ${key} is not in the file. Projects cannot be deleted.`),
    );
  return { ...part, changes: created.map(creation), known: [...existing, ...created] };
}

/** Returns the key of the project in the workspace by its key or, if the file has none, by its name. */
function findProject(
  { key, name }: WantedProject,
  existing: WorkspaceState['projects'],
): { key: string | null; fault: string | null } {
  const named = key === undefined ? existing.filter((one) => one.name === name) : [];
  if (named.length > 1)
    return {
      key: null,
      fault: `Several projects have the name "${name}": ${listOf(named)}. Add \`key\`.`,
    };
  if (named[0] !== undefined) return { key: named[0].key, fault: null };
  const wantedKey = key ?? projectKeyFrom(name);
  const found = existing.find((one) => one.key === wantedKey);
  if (found === undefined || found.name === name) return { key: found?.key ?? null, fault: null };
  const belongs = `The key ${wantedKey} belongs to project "${found.name}".`;
  return {
    key: found.key,
    fault: `${belongs} A project cannot be renamed; a new one needs another \`key\`.`,
  };
}

function listOf(projects: readonly KnownProject[]): string {
  return projects.map(({ key }) => key).join(', ');
}

function creation(body: KnownProject): Part['changes'][number] {
  return {
    action: 'create',
    kind: 'project',
    name: body.key,
    fields: [{ field: 'name', before: null, after: body.name }],
    request: { method: 'POST', path: '/api/v1/projects', body },
  };
}

/** Returns the project with this key, otherwise the only one with this name; otherwise why there is none. */
export function resolveProject(
  reference: string,
  known: readonly KnownProject[],
): { key: string } | { fault: string } {
  const byKey = known.find(({ key }) => key === reference);
  if (byKey !== undefined) return byKey;
  const [found, ...others] = known.filter(({ name }) => name === reference);
  if (found === undefined)
    return { fault: `There is no project "${reference}" in the file or the workspace.` };
  if (others.length === 0) return found;
  return {
    fault: `Several projects have the name "${reference}": ${listOf([found, ...others])}. Use the key.`,
  };
}
