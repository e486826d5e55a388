import { findActiveKey } from '../../database/people/keys.ts';
import { findMember } from '../../database/people/members.ts';
import { isSessionActive } from '../../database/people/sessions.ts';
import { findTokenHolder } from '../../database/people/token-holders.ts';
import { credentialIdsOf } from '../../domain/people/access.ts';
import type { Dependencies } from '../dependencies.ts';
import { unauthenticated } from './authentication.ts';
import type { Caller } from './caller.ts';

/** How long a credential counts as valid without a notification, in milliseconds. */
const RECHECK_MS = 10_000;

/** Watches the credential of a response that lasts. */
export type CredentialWatch = {
  /** Returns whether the credential is still valid. Reads it only if it may have changed. */
  isValid(): Promise<boolean>;
  close(): void;
};

/** Returns whether the caller's credential is still valid. */
async function isCredentialValid(
  { database, clock }: Pick<Dependencies, 'database' | 'clock'>,
  caller: Caller,
): Promise<boolean> {
  switch (caller.kind) {
    case 'key':
      return (await findActiveKey(database, { id: caller.keyId })) !== null;
    case 'token':
      return caller.claims.expiresAt > clock() && (await findTokenHolder(database, caller.claims)) !== null;
    case 'person':
      return (
        (await isSessionActive(database, caller.sessionId)) &&
        (await findMember(database, caller.workspaceId, caller.userId)) !== null
      );
  }
}

/**
 * Checks the credential of a request that has waited.
 * @throws Problem `unauthenticated` if the credential has ended in the meantime
 */
export async function requireCredential(
  deps: Pick<Dependencies, 'database' | 'clock'>,
  caller: Caller,
): Promise<void> {
  if (!(await isCredentialValid(deps, caller)))
    throw unauthenticated('The credential was revoked or has expired during the request.');
}

/** Creates a watch of the caller's credential. `onChange` is called when it may have ended. */
export function watchCredential(
  { database, notifications, clock }: Pick<Dependencies, 'database' | 'notifications' | 'clock'>,
  caller: Caller,
  onChange: () => void,
): CredentialWatch {
  let checkedAt = clock().getTime();
  const subscriptions = idsOf(caller).map((id) =>
    notifications.subscribe('credentials', id, () => {
      checkedAt = Number.NEGATIVE_INFINITY;
      onChange();
    }),
  );
  return {
    async isValid() {
      const now = clock().getTime();
      if (now - checkedAt < RECHECK_MS) return true;
      checkedAt = now;
      return await isCredentialValid({ database, clock }, caller);
    },
    close() {
      for (const unsubscribe of subscriptions) unsubscribe();
    },
  };
}

function idsOf(caller: Caller): string[] {
  if (caller.kind === 'key') return [caller.keyId];
  return caller.kind === 'token' ? credentialIdsOf(caller.claims) : [caller.userId, caller.sessionId];
}
