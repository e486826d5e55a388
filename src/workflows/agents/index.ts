/** Everything a worker that runs agents' workflows must know; the entry of their bundle. */
export { agentStep } from './agent-step.ts';
