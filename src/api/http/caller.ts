import type { Role, Scope, TokenClaims } from '../../domain/people/access.ts';

type Common = {
  workspaceId: string;
  scopes: readonly Scope[];
  /** Identifier in the audit log and in rows: `key:<id>`, `user:<id>`, `token:<subject>`. */
  actor: string;
  /** Readable name: `key:<prefix>` or `user:<email>`. */
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
export type TokenCaller = Common & { kind: 'token'; projectId: string; claims: TokenClaims };
/** A user with a session. Can access all projects of the workspace, as the role allows. */
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
