import { oneLine } from './one-line.ts';

/** What the mail about a disabled webhook tells. */
export type DisabledWebhook = {
  webhookId: string;
  name: string;
  /** Why, in one sentence. */
  reason: string;
  disabledAt: Date;
  /** The workspace's name. */
  workspace: string;
  /** Of the person who is told. */
  person: string;
};

/** Subject and text of the mail that tells an admin of a webhook disabled by its failures (docs/webhooks.md). */
export function webhookDisabledMail(webhook: DisabledWebhook, baseUrl: string) {
  const name = oneLine(webhook.name);
  const at = `${webhook.disabledAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const text = `Hello ${oneLine(webhook.person) || 'admin'},

the webhook "${name}" of the workspace "${oneLine(webhook.workspace)}" was disabled at ${at}.

Why: ${oneLine(webhook.reason)}.

Nothing is sent to it any more. Deliveries that were waiting, and those of events that come in from now on, are held.
Nothing of them is lost as long as payloads are kept.

When its receiver works again:
1. Re-enable the webhook.
2. Recover the deliveries that are held or failed; they are sent then.

Both are on this page, as is the log of what went wrong:
${baseUrl}/settings/integrations/webhooks/${webhook.webhookId}

You are told because you are an admin of this workspace.
`;
  return { subject: `Webhook ${name} was disabled`, text };
}
