import type { StepStatus, TaskState } from '../../src/domain/tasks/task-states.ts';
import type { WebhookStatus } from '../../src/domain/webhooks/webhook.ts';
import type { Schemas } from '../api/client.ts';

/** What a status means to the eye: each tone has a colour, a lightness and a shape of its own. */
export type Tone = 'waiting' | 'moving' | 'held' | 'done' | 'failed' | 'escalated' | 'off';

/** Every word that something of ours can be, as the API says it; `failing` is an active webhook with failures in a row. */
export type StatusWord =
  | TaskState
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
  failing: 'held',
  succeeded: 'done',
  retrying: 'held',
  held: 'held',
  none: 'off',
  delivered: 'done',
};

/** The tone of a status. */
export function toneOf(status: StatusWord): Tone {
  return TONES[status];
}
