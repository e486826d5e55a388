/** How programs are started, so that they cannot read the secrets of the process that starts them. */
export type Isolation =
  /** As the user of this process. */
  | { kind: 'none' }
  /** As another user. `home`: its HOME instead of the one of this process; null if it can write to that one. */
  | { kind: 'user'; uid: number; gid: number; home: string | null }
  /** As the same user, in separate user, process and mount namespaces. `unshare`: the path of that program. */
  | { kind: 'namespaces'; unshare: string };

export const NO_ISOLATION: Isolation = { kind: 'none' };

/** The command that starts a program. */
export type SpawnPlan = {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  owner: { uid?: number; gid?: number };
};

/**
 * The first process of a process namespace ignores signals that it does not handle, so it is a shell that waits for the
 * program. `exit` keeps the shell from becoming the program.
 */
const FIRST_PROCESS = '"$@"; exit $?';
/** A new `/proc` shows only the processes of the namespace. All of them end with the first one. */
const UNSHARE = '--user --map-current-user --pid --fork --kill-child --mount-proc -- /bin/sh -c'.split(' ');

/** Returns the command that starts a program in isolation. */
export function spawnPlanOf(
  { command, args }: { command: string; args: readonly string[] },
  env: Record<string, string>,
  isolation: Isolation,
): SpawnPlan {
  switch (isolation.kind) {
    case 'none':
      return { command, args, env, owner: {} };
    case 'user': {
      const { uid, gid, home } = isolation;
      // Node drops the supplementary groups when it switches the user.
      return { command, args, env: home === null ? env : { ...env, HOME: home }, owner: { uid, gid } };
    }
    case 'namespaces': {
      const words = [...UNSHARE, FIRST_PROCESS, 'sh', command, ...args];
      return { command: isolation.unshare, args: words, env, owner: {} };
    }
  }
}
