import type { PopulatedWorkspace } from '../web/populated-workspace.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import type { Sent, World } from '../support/world.ts';
import type { Receiver } from '../support/receiver.ts';
import { failCallback } from '../support/ended-run.ts';
import { eventually } from '../support/eventually.ts';
import type { Fuzzing } from './schemathesis.ts';

const OF_TASKS = [
  'readTask',
  'pauseTask',
  'rerunTask',
  'readTaskEvents',
  'readTaskCallbacks',
  'readTaskPushNotifications',
  'listTaskCalls',
  'listTaskArtifacts',
  'downloadTaskArtifact',
];
const OF_WEBHOOKS = [
  'readWebhook',
  'changeWebhook',
  'rotateWebhookSecret',
  'testWebhook',
  'draftWebhookTest',
  'previewWebhook',
  'recoverWebhook',
  'getWebhookStats',
  'listDeliveries',
];
const OF_DELIVERIES = ['readDelivery', 'retryDelivery'];
/** Each key can be rotated once. */
const KEYS_TO_ROTATE = 15;

/** Returns the id of a successful delivery of a separate webhook. */
async function arrivedDelivery(world: World, owner: Sent, receiver: Receiver): Promise<string> {
  const events = [{ event: 'issue.created' }];
  const plan = { ...owner, body: { name: 'Reached', url: receiver.url, events } };
  const { id: webhook } = (await world.send('POST', '/api/v1/webhooks', plan)).json;
  const body = { event: 'issue.created', data: sampleData('issue.created') };
  await world.send('POST', '/api/v1/events', { ...owner, body });
  return await eventually('the event has arrived', async () => {
    const path = `/api/v1/webhooks/${webhook}/deliveries?status=succeeded`;
    const [delivery] = (await world.send('GET', path, owner)).json.data as { id: string }[];
    return delivery?.id ?? null;
  });
}

/** Returns the id of a completed task whose callback has failed, and fails again. */
async function taskWithFailedCallback(world: World): Promise<string> {
  const { json } = await world.submit({ callback_url: 'https://127.0.0.1:1/' });
  await world.reaches(json.execution_id, 'completed');
  await failCallback(world.database, json.execution_id);
  return json.execution_id;
}

/**
 * Returns existing ids for each path parameter. Operations that delete objects get separate ones, so that the others
 * still exist for the other operations.
 */
export async function knownThings(
  { world, cookie, runs, webhook, submit, disabledWebhook }: PopulatedWorkspace,
  receiver: Receiver,
): Promise<NonNullable<Fuzzing['known']>> {
  const owner = world.as(cookie);
  const idsAt = async (path: string): Promise<string[]> =>
    (await world.send('GET', path, owner)).json.data.map(({ id }: { id: string }) => id);
  const make = async (path: string, body: object): Promise<string> =>
    (await world.send('POST', path, { ...owner, body })).json.id;
  const { project_id } = world.installation;
  const events = [{ event: 'issue.created' }];
  const rotated = Array.from({ length: KEYS_TO_ROTATE }, (_, index) =>
    make('/api/v1/keys', { name: `Rotated ${index}`, project_id }),
  );
  const [, ...others] = (await idsAt('/api/v1/members')).toReversed();
  const member = await make('/api/v1/members', { email: 'leaves@example.com', role: 'viewer' });
  const later = await arrivedDelivery(world, owner, receiver);
  const at = new Date(Date.now() + 24 * 3_600_000).toISOString();
  await world.send('POST', `/api/v1/deliveries/${later}/retry`, { ...owner, body: { at } });
  const of = (operations: readonly string[], parameter: string, ids: readonly string[]) =>
    Object.fromEntries(operations.map((operation) => [`${operation} path.${parameter}`, ids]));
  return {
    ...of(OF_TASKS, 'execution_id', Object.values(runs)),
    ...of(OF_WEBHOOKS, 'id', [webhook, disabledWebhook]),
    ...of(OF_DELIVERIES, 'id', [await arrivedDelivery(world, owner, receiver)]),
    ...of(['cancelDeliveryRetry'], 'id', [later]),
    ...of(['continueTask'], 'execution_id', [await submit('Continues', { step_ms: 600_000 })]),
    ...of(['retryTaskCallback'], 'execution_id', [await taskWithFailedCallback(world)]),
    ...of(['endSession'], 'id', (await idsAt('/api/v1/sessions')).slice(1)),
    ...of(['cancelTask'], 'execution_id', [runs.paused, runs.completed]),
    ...of(['eraseTask'], 'execution_id', [runs.cancelled, runs.asking]),
    'downloadTaskArtifact path.name': ['checkout.md'],
    ...of(['deleteWebhook'], 'id', [
      await make('/api/v1/webhooks', { name: 'Goes', url: 'http://127.0.0.1:9', events }),
    ]),
    ...of(['rotateKey'], 'id', await Promise.all(rotated)),
    ...of(['revokeKey'], 'id', [await make('/api/v1/keys', { name: 'Goes', project_id })]),
    ...of(['changeMember'], 'id', others),
    ...of(['removeMember'], 'id', [member]),
    ...of(['revokeInvitation'], 'id', await idsAt('/api/v1/invitations')),
    ...of(['readNotification'], 'id', await idsAt('/api/v1/notifications')),
  };
}
