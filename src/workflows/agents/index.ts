/** Everything a worker that runs agents' workflows must know; the entry of their bundle. */
export { agentPlan } from './agent-plan.ts';
export { agentStep } from './agent-step.ts';

// What a provider can't do of what it was asked is in the record; the SDK would write it to the log with each call.
(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
