import type { Database } from '../database.ts';
import { findActiveKey, type ActiveKey } from './keys.ts';
import type { Notifications } from '../common/notifications.ts';

/** How long a key is remembered, in milliseconds, when nothing is heard of it. */
const TTL_MS = 10_000;
const MAX_KEYS = 10_000;

/** The keys that may be used, as far as possible without asking the database. */
export type KeyCache = {
  /** The living key with this hash, or null. */
  find(hash: string): Promise<ActiveKey | null>;
  /** Has all be looked up again: this process has just changed one, and the news of it are still on their way. */
  invalidate(): void;
};

/**
 * Remembers living keys for a few seconds. The database tells, by a trigger, when a key is revoked, rotated or
 * removed, and then it is looked up again; while the database can not be heard, every key is. Keys that are
 * unknown are never remembered.
 */
export function createKeyCache(
  database: Database,
  notifications: Notifications,
  clock: () => Date,
): KeyCache {
  const known = new Map<string, { key: ActiveKey; until: number }>();
  let changes = 0;
  const invalidate = () => {
    changes += 1;
    known.clear();
  };
  notifications.subscribe('keys', null, invalidate);
  return {
    invalidate,
    async find(hash) {
      const now = clock().getTime();
      const remembered = known.get(hash);
      if (remembered && now < remembered.until && notifications.isConnected()) return remembered.key;
      const before = changes;
      const key = await findActiveKey(database, { hash });
      known.delete(hash);
      // What was told while the answer was on its way may be about this key.
      if (key && before === changes && known.size < MAX_KEYS) {
        known.set(hash, { key, until: Math.min(now + TTL_MS, key.expires_at?.getTime() ?? Infinity) });
      } else if (known.size >= MAX_KEYS) known.clear();
      return key;
    },
  };
}
