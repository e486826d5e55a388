import { z } from 'zod';
import { webhookPlan } from '../../domain/webhooks/webhook-plan.ts';
import { webhookView } from '../../domain/webhooks/webhook-view.ts';

const { name, url, events } = webhookPlan.shape;

/** A webhook for somebody who listens. */
export const listenerPlan = z
  .strictObject({
    name: name.optional().describe('The address, unless given'),
    events: events.optional().describe('Every kind, unless given'),
    forward_to: url.describe(
      'Where the listener posts what it is sent, shown as the address of the webhook. The service never connects to it, so that any address is good',
    ),
  })
  .meta({ id: 'ListenerPlan' });

export const listenerMade = webhookView
  .extend({
    secret: z.string().describe('64 hex characters that deliveries are signed with, shown this once'),
  })
  .meta({ id: 'Listener' });
