import type { readRunUsage as realUsage } from '../../../src/database/agents/agent-calls.ts';
import type { readActorLabels as realLabels } from '../../../src/database/people/actors.ts';

/* Replaces statements that only add to a response. */

export const readRunUsage: typeof realUsage = async () => null;
export const readActorLabels: typeof realLabels = async () => String;
