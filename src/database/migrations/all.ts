import type { MigrationObject } from '@mikro-orm/core';
import { M0001Tasks } from './m0001-tasks.ts';
import { M0002KeyNotices } from './m0002-key-notices.ts';
import { M0003Webhooks } from './m0003-webhooks.ts';
import { M0004Retention } from './m0004-retention.ts';
import { M0005Channel } from './m0005-channel.ts';
import { M0006People } from './m0006-people.ts';
import { M0007Watching } from './m0007-watching.ts';
import { M0008Agents } from './m0008-agents.ts';
import { M0009StepResults } from './m0009-step-results.ts';
import { M0010LastCalls } from './m0010-last-calls.ts';
import { M0011EventTraces } from './m0011-event-traces.ts';
import { M0012GroupClaims } from './m0012-group-claims.ts';
import { M0013RepeatedRequests } from './m0013-repeated-requests.ts';
import { M0014EnabledCounts } from './m0014-enabled-counts.ts';
import { M0015EndedCredentials } from './m0015-ended-credentials.ts';
import { M0016IdempotencyActors } from './m0016-idempotency-actors.ts';
import { M0017CallbackRetries } from './m0017-callback-retries.ts';
import { M0018ScheduledRetries } from './m0018-scheduled-retries.ts';
import { M0019PushNotifications } from './m0019-push-notifications.ts';
import { M0020ManualRetries } from './m0020-manual-retries.ts';
import { M0021FindingRuns } from './m0021-finding-runs.ts';
import { M0022NoticesOfRuns } from './m0022-notices-of-runs.ts';
import { M0023WebhookDescriptions } from './m0023-webhook-descriptions.ts';
import { M0024LookedAt } from './m0024-looked-at.ts';
import { M0025OpenRuns } from './m0025-open-runs.ts';
import { M0026IdempotencyTakeovers } from './m0026-idempotency-takeovers.ts';
import { M0027LastWriters } from './m0027-last-writers.ts';
import { M0028OverdueDeliveries } from './m0028-overdue-deliveries.ts';
import { M0029EndedScheduledRetries } from './m0029-ended-scheduled-retries.ts';
import { M0030InitialPasswords } from './m0030-initial-passwords.ts';
import { M0031EndedRuns } from './m0031-ended-runs.ts';
import { M0032DeliveriesOfWebhooks } from './m0032-deliveries-of-webhooks.ts';
import { M0033WordsOfEvents } from './m0033-words-of-events.ts';
import { M0034LighterDeliveries } from './m0034-lighter-deliveries.ts';
import { M0035LighterEvents } from './m0035-lighter-events.ts';
import { M0036PreviousDeliveryIndexes } from './m0036-previous-delivery-indexes.ts';
import { M0037IdsOfEvents } from './m0037-ids-of-events.ts';
import { M0038AttemptsWithoutForeignKey } from './m0038-attempts-without-foreign-key.ts';

/**
 * All migrations, oldest first. During an upgrade, the previous version runs with the new schema, so each migration
 * only adds. A migration that removes something comes one version later and has `Contract` in its name: processes that
 * do not know it refuse to start (see schema.ts).
 */
export const MIGRATIONS: readonly MigrationObject[] = [
  { name: 'M0001Tasks', class: M0001Tasks },
  { name: 'M0002KeyNotices', class: M0002KeyNotices },
  { name: 'M0003Webhooks', class: M0003Webhooks },
  { name: 'M0004Retention', class: M0004Retention },
  { name: 'M0005Channel', class: M0005Channel },
  { name: 'M0006People', class: M0006People },
  { name: 'M0007Watching', class: M0007Watching },
  { name: 'M0008Agents', class: M0008Agents },
  { name: 'M0009StepResults', class: M0009StepResults },
  { name: 'M0010LastCalls', class: M0010LastCalls },
  { name: 'M0011EventTraces', class: M0011EventTraces },
  { name: 'M0012GroupClaims', class: M0012GroupClaims },
  { name: 'M0013RepeatedRequests', class: M0013RepeatedRequests },
  { name: 'M0014EnabledCounts', class: M0014EnabledCounts },
  { name: 'M0015EndedCredentials', class: M0015EndedCredentials },
  { name: 'M0016IdempotencyActors', class: M0016IdempotencyActors },
  { name: 'M0017CallbackRetries', class: M0017CallbackRetries },
  { name: 'M0018ScheduledRetries', class: M0018ScheduledRetries },
  { name: 'M0019PushNotifications', class: M0019PushNotifications },
  { name: 'M0020ManualRetries', class: M0020ManualRetries },
  { name: 'M0021FindingRuns', class: M0021FindingRuns },
  { name: 'M0022NoticesOfRuns', class: M0022NoticesOfRuns },
  { name: 'M0023WebhookDescriptions', class: M0023WebhookDescriptions },
  { name: 'M0024LookedAt', class: M0024LookedAt },
  { name: 'M0025OpenRuns', class: M0025OpenRuns },
  { name: 'M0026IdempotencyTakeovers', class: M0026IdempotencyTakeovers },
  { name: 'M0027LastWriters', class: M0027LastWriters },
  { name: 'M0028OverdueDeliveries', class: M0028OverdueDeliveries },
  { name: 'M0029EndedScheduledRetries', class: M0029EndedScheduledRetries },
  { name: 'M0030InitialPasswords', class: M0030InitialPasswords },
  { name: 'M0031EndedRuns', class: M0031EndedRuns },
  { name: 'M0032DeliveriesOfWebhooks', class: M0032DeliveriesOfWebhooks },
  { name: 'M0033WordsOfEvents', class: M0033WordsOfEvents },
  { name: 'M0034LighterDeliveries', class: M0034LighterDeliveries },
  { name: 'M0035LighterEvents', class: M0035LighterEvents },
  { name: 'M0036PreviousDeliveryIndexes', class: M0036PreviousDeliveryIndexes },
  { name: 'M0037IdsOfEvents', class: M0037IdsOfEvents },
  { name: 'M0038AttemptsWithoutForeignKey', class: M0038AttemptsWithoutForeignKey },
];
