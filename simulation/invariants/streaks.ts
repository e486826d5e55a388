import type { AttemptResult } from '../../src/database/webhooks/delivery-results.ts';
import type { Tables } from '../store/tables.ts';
import type { Process } from '../world/clock.ts';
import type { Report } from './guarantees.ts';

/** Failures in a row that disable a webhook, according to the guarantee. */
const FAILURES = 10;

type Streak = { count: number; enabledAt: number[]; isDisabled: boolean };

/** Counts failures of webhooks independently of the code that disables them. `createRequests` checks the results. */
export function createStreaks(tables: Tables, slackMs: number, report: Report) {
  const streaks = new Map<string, Streak>();
  const streakOf = (id: string): Streak => {
    const streak = streaks.get(id) ?? { count: 0, enabledAt: [], isDisabled: false };
    streaks.set(id, streak);
    return streak;
  };

  /** Returns whether a failure counts. If its attempt began at about the time of the enabling, the result decides. */
  function counts({ enabledAt }: Streak, result: AttemptResult, by: Process | null): boolean {
    const begun = Date.parse(result.attempted_at);
    const last = enabledAt.at(-1) ?? Number.NEGATIVE_INFINITY;
    if (begun >= last) return true;
    const isCertain = last - begun > slackMs && (by?.thawedAt ?? 0) < begun;
    return isCertain ? false : result.enabled_count === enabledAt.length;
  }

  return {
    onEnabled(webhookId: string, now: number): void {
      const streak = streakOf(webhookId);
      streak.enabledAt.push(now);
      Object.assign(streak, { count: 0, isDisabled: false });
    },

    onResults(results: readonly AttemptResult[], by: Process | null): void {
      for (const [webhookId, own] of Map.groupBy(results, ({ webhook_id: id }) => id)) {
        const webhook = tables.webhooks.get(webhookId);
        if (!webhook || webhook.deleted_at) continue;
        const streak = streakOf(webhookId);
        for (const result of own) {
          if (streak.isDisabled) continue;
          if (result.succeeded) streak.count = 0;
          else if (counts(streak, result, by)) streak.count += 1;
          streak.isDisabled = streak.count >= FAILURES;
        }
        if (streak.isDisabled === (webhook.disabled_at !== null)) continue;
        const state = webhook.disabled_at === null ? 'enabled' : 'disabled';
        report('disabling', `${webhookId} is ${state} after ${streak.count} failures in a row`);
      }
    },
  };
}
