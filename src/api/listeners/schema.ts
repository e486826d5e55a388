import { z } from 'zod';
import { webhookPlan } from '../../domain/webhooks/webhook-plan.ts';
import { webhookView } from '../../domain/webhooks/webhook-view.ts';

const { name, url, events } = webhookPlan.shape;

/** The body that creates a webhook for a listener. */
export const listenerPlan = z
  .strictObject({
    name: name.optional().describe('Default: the address'),
    events: events.optional().describe('Default: all event kinds'),
    forward_to: url.describe(
      'Address that the listener forwards deliveries to, shown as the address of the webhook. The service never connects to it, so any address is allowed',
    ),
  })
  .meta({ id: 'ListenerPlan' });

export const createdListener = webhookView
  .extend({
    secret: z.string().describe('64 hex characters that sign deliveries, shown once'),
  })
  .meta({ id: 'Listener' });
