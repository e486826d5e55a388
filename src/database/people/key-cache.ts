import type { ActiveKey } from './keys.ts';
import type { Notifications } from '../common/notifications.ts';

/** How long a key is cached without a notification, in milliseconds. */
const TTL_MS = 10_000;
const MAX_KEYS = 10_000;

/** A cache of active keys. */
export type KeyCache = {
  /** Returns the active key with this hash, or null. */
  find(hash: string): Promise<ActiveKey | null>;
  /** Clears the cache. Called after this process changed a key, before the notification arrives. */
  invalidate(): void;
};

/**
 * Creates a cache that keeps active keys for a few seconds. A trigger of the database notifies it of each revoked,
 * rotated or removed key, and the keys are read again. While the notifications are disconnected, every key is read from
 * the database. Unknown keys are never cached. `read` reads the active key with a hash.
 */
export function createKeyCache(
  read: (hash: string) => Promise<ActiveKey | null>,
  notifications: Pick<Notifications, 'subscribe' | 'isConnected'>,
  clock: () => Date,
): KeyCache {
  const known = new Map<string, { key: ActiveKey; until: number }>();
  let changes = 0;
  const invalidate = () => {
    changes += 1;
    known.clear();
  };
  notifications.subscribe('credentials', null, invalidate);
  return {
    invalidate,
    async find(hash) {
      const now = clock().getTime();
      const remembered = known.get(hash);
      if (remembered && now < remembered.until && notifications.isConnected()) return remembered.key;
      const before = changes;
      const key = await read(hash);
      known.delete(hash);
      // A notification during the read may be about this key.
      if (key && before === changes && known.size < MAX_KEYS) {
        known.set(hash, { key, until: Math.min(now + TTL_MS, key.expires_at?.getTime() ?? Infinity) });
      } else if (known.size >= MAX_KEYS) known.clear();
      return key;
    },
  };
}
