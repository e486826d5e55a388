import type { Command } from 'commander';
import type { AgentCheck, CheckResult } from '../../src/agents/check.ts';
import { contextOf, outputOf } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit-codes.ts';
import { ioOf } from '../io.ts';
import { duration, styled, table, type Cell } from '../output.ts';
import type { Whole } from '../shapes.ts';

/** An agent in the list of the service. */
type ListedAgent = {
  name: string;
  backend: string;
  model: string | null;
  tools: string[];
  last_call: { at: string; ok: boolean } | null;
};

/** `baton agents`, and `baton agents check`, which tries the catalogue locally without the server. */
export function addAgentCommands(program: Command): void {
  const agents = program
    .command('agents')
    .description('List the agents of the service')
    .action(async (_options: object, command: Command) => {
      const { api, output } = contextOf(command);
      const answer = await api().call<Whole<ListedAgent>>('GET', '/api/v1/agents');
      output.document(answer);
      const rows = answer.data.map(({ name, backend, model, tools, last_call: last }) => [
        name,
        backend,
        model,
        tools.length === 0 ? null : tools.join(' '),
        last === null ? null : `${last.at} ${last.ok ? 'answered' : 'failed'}`,
      ]);
      output.line(table(['AGENT', 'BACKEND', 'MODEL', 'TOOLS', 'LAST CALL'], rows));
    });
  agents
    .command('check')
    .description(
      'Check that the model of every agent in AGENTS_FILE responds and that its tool servers start',
    )
    .option('--file <path>', 'use this file instead of AGENTS_FILE')
    .addHelpText(
      'after',
      '\nReads the same environment as a task worker. Sends each model a one-word prompt.',
    )
    .action(async ({ file }: { file?: string }, command: Command) => {
      const output = outputOf(command);
      const checks = await check({
        ...ioOf(command).env,
        ...(file === undefined ? {} : { AGENTS_FILE: file }),
      });
      output.document({ data: checks });
      output.line(table(['AGENT', 'BACKEND', 'BY', 'ANSWERS', 'TOOLS'], checks.map(rowOf)));
      for (const line of checks.flatMap(faultsOf)) output.line(`\n${line}`);
      const failed = checks.filter(({ ok }) => !ok).length;
      if (failed > 0)
        throw new CliError(EXIT.failed, `${failed} of ${checks.length} agents failed the check`);
    });
}

async function check(environment: NodeJS.ProcessEnv): Promise<AgentCheck[]> {
  // Loaded here, because only this command needs it.
  const { tryAgents } = await import('../admin/try-agents.ts');
  try {
    return await tryAgents(environment);
  } catch (error) {
    throw usageError((error as Error).message);
  }
}

function rowOf({ agent, backend, by, answers, tools }: AgentCheck): Cell[] {
  return [
    agent,
    backend,
    by === null || by.length <= 50 ? by : `${by.slice(0, 49)}…`,
    shown(answers),
    tools?.ok ? { drawn: `${styled('green', '✔')} ${tools.count}, ${duration(tools.ms)}` } : shown(tools),
  ];
}

function shown(trial: CheckResult | null): Cell {
  if (trial === null) return null;
  return { drawn: trial.ok ? `${styled('green', '✔')} ${duration(trial.ms)}` : styled('red', '✘') };
}

function faultsOf({ agent, answers, tools }: AgentCheck): string[] {
  return [answers, tools].flatMap((trial) =>
    trial?.message ? [`${styled('bold', agent)}: ${trial.message}`] : [],
  );
}
