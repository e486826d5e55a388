import type { Role, Scope } from '../../domain/people/access.ts';

type Common = {
  workspaceId: string;
  scopes: readonly Scope[];
  /** For the audit log and rows: `key:<id>`, `user:<id>`, `token:<subject>`. */
  actor: string;
  /** For people to read: `key:<prefix>` or `user:<email>`. */
  label: string;
};

/** An API key, for its project. */
export type KeyCaller = Common & {
  kind: 'key';
  projectId: string;
  keyId: string;
  name: string;
  prefix: string;
};
/** A JWT, for one project. */
export type TokenCaller = Common & { kind: 'token'; projectId: string; expiresAt: Date };
/** A person with a session, for all projects of the workspace, as far as the role goes. */
export type PersonCaller = Common & {
  kind: 'person';
  projectId: null;
  userId: string;
  email: string;
  name: string;
  role: Role;
  sessionId: string;
  expiresAt: Date;
};

export type Caller = KeyCaller | TokenCaller | PersonCaller;
