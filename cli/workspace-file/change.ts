/** A place in a workspace file, from the outermost field inwards. */
export type Path = readonly (string | number)[];

/** What is wrong with the file, as a sentence. */
export type Fault = { path: Path; message: string };

/** A field before and after a change, as text for people. Null: not set. */
export type FieldChange = { field: string; before: string | null; after: string | null };

/** Where the secret of a webhook comes from. */
export type SecretSource =
  | { from: 'environment'; name: string }
  | { from: 'file'; path: string }
  | { from: 'generated' };

/** One request that changes one object of the workspace. */
export type Change = {
  action: 'create' | 'change' | 'delete';
  kind: 'project' | 'member' | 'invitation' | 'key' | 'webhook';
  /** What identifies the object: the key of a project, an e-mail address, a name. */
  name: string;
  /** Key of the project that a key belongs to. */
  project?: string;
  fields: FieldChange[];
  request: { method: 'POST' | 'PATCH' | 'DELETE'; path: string; body?: Record<string, unknown> };
  /** The secret that the request contains. `inHeader`: deliveries contain the secret itself. */
  secret?: { source: SecretSource; inHeader: boolean };
};

/**
 * A change and how far it got. `unknown`: no response says whether it took effect. `result`: the response, with a generated
 * secret; for `unknown` only this secret.
 */
export type Step = { change: Change; status: 'pending' | 'applied' | 'failed' | 'unknown'; result?: unknown };

/** The outcome of comparing a file with a workspace: nothing is applied if there are faults. */
export type Part = { changes: Change[]; faults: Fault[]; notes: string[] };

/** Returns how messages name the object of a change. */
export function titleOf({ kind, name, project }: Pick<Change, 'kind' | 'name' | 'project'>): string {
  if (kind === 'key') return `key "${name}" of project ${project}`;
  if (kind === 'invitation') return `invitation of ${name}`;
  return kind === 'webhook' ? `webhook "${name}"` : `${kind} ${name}`;
}
