/** Entry of the workflow bundle of the agents. */
export { agentPlan } from './agent-plan.ts';
export { agentStep } from './agent-step.ts';

// The record contains what a provider does not support. The SDK would also log it with each call.
(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
