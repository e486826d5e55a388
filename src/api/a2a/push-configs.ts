import type { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { RequestMalformedError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import { createHash, randomUUIDv7 } from 'node:crypto';
import {
  deletePushConfig,
  listPushConfigs,
  savePushConfig,
  type PushConfigRow,
} from '../../database/tasks/push.ts';
import { callbackUrl } from '../../domain/common/callback-url.ts';
import { MAX_A2A_PUSH_CONFIGS } from '../../domain/common/limits.ts';
import type { PushSecrets } from '../../outbound/push-request.ts';
import { pushSecretsContext } from '../../security/sealing.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../http/problem.ts';
import { hostProblems } from '../http/url-host.ts';

/** A validated address for push notifications. */
export type CheckedPush = { id: string; url: string; secrets: PushSecrets };

/**
 * Returns a configuration that a request contains. `messageId`: the message that contains it, whose repetition has the same
 * configuration.
 * @throws RequestMalformedError for a URL that cannot be called
 */
export function checkedPush(
  { guard }: Pick<Dependencies, 'guard'>,
  { id, url, token, authentication }: TaskPushNotificationConfig,
  messageId: string | null,
): CheckedPush {
  const issue = callbackUrl.safeParse(url).error?.issues[0];
  const problem = issue ? `\`url\` ${issue.message}.` : hostProblems(guard, 'url', url)[0]?.message;
  if (problem !== undefined) throw new RequestMalformedError(problem);
  const own = messageId === null ? randomUUIDv7() : createHash('sha256').update(messageId).digest('hex');
  const secrets = {
    token: token === '' ? null : token,
    authorization: authentication ? `${authentication.scheme} ${authentication.credentials}`.trim() : null,
  };
  return { id: id === '' ? own : id, url, secrets };
}

/** Throws if the run cannot have this configuration in addition to its others. */
export async function requirePlace(deps: Dependencies, executionId: string, id: string): Promise<void> {
  const others = (await listPushConfigs(deps.database, executionId)).filter((config) => config.id !== id);
  if (others.length >= MAX_A2A_PUSH_CONFIGS) throw tooMany();
}

/** Stores a configuration. Notifications begin after the event `after`; null: after the last one. */
export async function storePush(
  { database, sealing, clock }: Dependencies,
  executionId: string,
  { id, url, secrets }: CheckedPush,
  after: number | null,
): Promise<void> {
  const key = { executionId, id };
  const sealed = sealing.seal(JSON.stringify(secrets), pushSecretsContext(key));
  const outcome = await savePushConfig(database, { ...key, url, secrets: sealed, after, now: clock() });
  if (outcome === 'full') throw tooMany();
  if (outcome === 'missing') throw notFound('task');
}

/** Returns the configurations of a run. Nobody can read the token and the credentials again. */
export async function readPushes(
  { database }: Dependencies,
  executionId: string,
): Promise<TaskPushNotificationConfig[]> {
  return (await listPushConfigs(database, executionId)).map(presentPush);
}

/** Deletes a configuration, if there is one. */
export async function removePush({ database }: Dependencies, executionId: string, id: string): Promise<void> {
  await deletePushConfig(database, { executionId, id });
}

function presentPush({ execution_id, id, url }: PushConfigRow): TaskPushNotificationConfig {
  return { tenant: '', taskId: execution_id, id, url, token: '', authentication: undefined };
}

function tooMany(): UnsupportedOperationError {
  return new UnsupportedOperationError(
    `A task can have ${MAX_A2A_PUSH_CONFIGS} push notification configurations.`,
  );
}
