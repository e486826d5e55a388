import type { ShownState, StepStatus } from '../../src/domain/tasks/task-states.ts';
import type { WebhookStatus } from '../../src/domain/webhooks/webhook.ts';
import type { Schemas } from '../api/client.ts';

/** The visual meaning of a status. Each tone has its own colour, lightness and shape. */
export type Tone =
  | 'waiting'
  | 'moving'
  | 'held'
  | 'retrying'
  | 'asking'
  | 'done'
  | 'failed'
  | 'escalated'
  | 'off';

/** Every status of the API. `failing` is an active webhook with consecutive failures. */
export type StatusWord =
  | ShownState
  | StepStatus
  | WebhookStatus
  | 'failing'
  | Schemas['Delivery']['status']
  | Schemas['TaskDetail']['callback']['status'];

const TONES: Readonly<Record<StatusWord, Tone>> = {
  initializing: 'waiting',
  planning: 'moving',
  executing: 'moving',
  paused: 'held',
  'waiting for an answer': 'asking',
  completed: 'done',
  failed: 'failed',
  cancelled: 'off',
  escalated: 'escalated',
  pending: 'waiting',
  running: 'moving',
  skipped: 'off',
  active: 'done',
  inactive: 'off',
  disabled: 'failed',
  failing: 'retrying',
  succeeded: 'done',
  retrying: 'retrying',
  held: 'held',
  none: 'off',
  delivered: 'done',
};

/** The tone of a status. */
export function toneOf(status: StatusWord): Tone {
  return TONES[status];
}
