import type { BackendName } from '../domain/plan.ts';
import type { Agent } from './agent-settings.ts';

/** What does an agent's work, and by which model, address or program; null for an agent that rehearses. */
export function workPlaceOf({ a2a, command, model }: Agent): { backend: BackendName; by: string | null } {
  if (a2a) return { backend: 'a2a', by: a2a.url };
  if (command) return { backend: 'command', by: [command.command, ...command.args].join(' ') };
  return model === null ? { backend: 'rehearsal', by: null } : { backend: 'model', by: model };
}
