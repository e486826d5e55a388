import { oneLine } from './one-line.ts';

/** The content of the mail about a disabled webhook. */
export type DisabledWebhook = {
  webhookId: string;
  name: string;
  /** The reason, in one sentence. */
  reason: string;
  disabledAt: Date;
  /** The workspace's name. */
  workspace: string;
  /** Name of the recipient. */
  person: string;
};

/**
 * Returns subject and text of the mail that tells an admin about a webhook disabled after failures
 * (docs/webhooks.md).
 */
export function webhookDisabledMail(webhook: DisabledWebhook, baseUrl: string) {
  const name = oneLine(webhook.name);
  const at = `${webhook.disabledAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const text = `Hello ${oneLine(webhook.person) || 'admin'},

the webhook "${name}" of the workspace "${oneLine(webhook.workspace)}" was disabled at ${at}.

Reason: ${oneLine(webhook.reason)}.

Baton no longer sends events to it. Waiting deliveries and deliveries of new events are held.
They can be recovered until their payloads are deleted.

When the receiver works again:
1. Re-enable the webhook.
2. Recover the held and failed deliveries to send them.

Do both on this page, which also shows the delivery log:
${baseUrl}/settings/integrations/webhooks/${webhook.webhookId}

You receive this mail because you are an admin of this workspace.
`;
  return { subject: `Webhook ${name} was disabled`, text };
}
