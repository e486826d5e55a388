import { type Agent, backendOfAgent } from './agent-settings.ts';
import { connectToRemote } from './a2a-client.ts';
import type { Catalogue } from './catalogue.ts';
import { describeMissing, findProgram } from './find-program.ts';
import { failureOf } from './model-failures.ts';
import type { Models } from './models.ts';
import { environmentOf } from './own-process.ts';
import { secretsIn, withoutSecrets, type Environment } from './secrets.ts';
import { toolSetOf } from './tool-set.ts';
import type { ToolServers } from './tool-servers.ts';

/** The result of one check, with its duration in milliseconds and the error. */
export type CheckResult = { ok: boolean; ms: number; message: string | null };

/** The check of one agent. Null: nothing to check. */
export type AgentCheck = {
  agent: string;
  backend: ReturnType<typeof backendOfAgent>['backend'];
  /** Its model, URL or program; null for a simulated agent. */
  by: string | null;
  /** Whether its model, URL or program responds. The program is not run. */
  answers: CheckResult | null;
  /** Whether the servers of its tools start and have the allowed tools. `count`: number of its tools. */
  tools: (CheckResult & { count: number }) | null;
  ok: boolean;
};

type Dependencies = {
  catalogue: Pick<Catalogue, 'agents'>;
  models: Models;
  servers: ToolServers;
  environment: Environment;
  /** Rejects addresses that the address guard rejects. */
  fetch: typeof globalThis.fetch;
};

/** Timeout of a model's response or a remote agent's card, in milliseconds. */
const ANSWER_MS = 30_000;

/** Checks every agent of the catalogue concurrently, and each model only once. */
export async function checkAgents(deps: Dependencies): Promise<AgentCheck[]> {
  const models = new Map<string, Promise<CheckResult>>();
  const modelAnswers = (name: string): Promise<CheckResult> => {
    const known = models.get(name) ?? measure(() => askModel(deps.models, name));
    models.set(name, known);
    return known;
  };
  return await Promise.all(
    [...deps.catalogue.agents.values()].map(async (agent) => {
      const { backend, by } = backendOfAgent(agent);
      const [answers, tools] = await Promise.all([
        agent.model === null ? checkRemote(agent, deps) : modelAnswers(agent.model),
        checkTools(agent, deps),
      ]);
      return {
        agent: agent.name,
        backend,
        by,
        answers,
        tools,
        ok: answers?.ok !== false && tools?.ok !== false,
      };
    }),
  );
}

async function askModel(models: Models, name: string): Promise<void> {
  try {
    await models.get(name).doGenerate({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'Answer with the word: ready' }] }],
      // Models that reason first need room for that.
      maxOutputTokens: 256,
      abortSignal: AbortSignal.timeout(ANSWER_MS),
    });
  } catch (error) {
    throw new Error(failureOf(error, name, Date.now(), models.withoutKeys).message, { cause: error });
  }
}

async function checkRemote({ a2a, command }: Agent, deps: Dependencies): Promise<CheckResult | null> {
  const { environment } = deps;
  if (a2a) {
    const secrets = secretsIn(Object.values(a2a.headersEnv), environment);
    const trial = await measure(() => connectToRemote(a2a, deps, AbortSignal.timeout(ANSWER_MS)));
    return { ...trial, message: trial.message === null ? null : withoutSecrets(trial.message, secrets) };
  }
  if (!command) return null;
  return await measure(async () => {
    const { PATH = '' } = environmentOf(command.env, environment);
    const found = findProgram(command.command, PATH, command.cwd);
    if (found === null) throw new Error(describeMissing(command));
  });
}

async function checkTools({ tools }: Agent, { servers }: Dependencies): Promise<AgentCheck['tools']> {
  if (!tools?.some((tool) => tool.includes('/'))) return null;
  const began = performance.now();
  const found = await toolSetOf(tools, servers);
  const message = found.faults.length === 0 ? null : found.faults.join('; ');
  return { ok: message === null, ms: performance.now() - began, message, count: found.tools.length };
}

async function measure(work: () => Promise<unknown>): Promise<CheckResult> {
  const began = performance.now();
  try {
    await work();
    return { ok: true, ms: performance.now() - began, message: null };
  } catch (error) {
    return { ok: false, ms: performance.now() - began, message: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return (message === 'fetch failed' || message === '') && cause instanceof Error ? reasonOf(cause) : message;
}
