import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { AgentCheck, CheckResult } from '../../src/agents/check.ts';
import { checksOfService, type ListedAgent, type ServiceCheck } from '../agent-checks.ts';
import { contextOf, outputOf } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit-codes.ts';
import { ioOf } from '../io.ts';
import { duration, styled, table, type Cell } from '../output.ts';
import type { CompleteList } from '../shapes.ts';

/** `baton agents`, and `baton agents check`, which tries the catalogue with the settings of this environment. */
export function addAgentCommands(program: Command): void {
  const agents = program
    .command('agents')
    .description('List the agents of the service')
    .action(async (_options: object, command: Command) => {
      const { api, output } = contextOf(command);
      const answer = await api().call<CompleteList<ListedAgent>>('GET', '/api/v1/agents');
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
      '\nReads the same environment as a task worker. Sends each model a one-word prompt. Without AGENTS_FILE and --file, lists the agents of the service, if there is one. Tests those that have the same backend and model here, and shows the last call of the others.',
    )
    .action(async ({ file }: { file?: string }, command: Command) => {
      const output = outputOf(command);
      const { env } = ioOf(command);
      const hasOwnCatalogue = file !== undefined || Boolean(env['AGENTS_FILE']);
      const listed = hasOwnCatalogue ? null : await agentsOfService(command);
      const environment = { ...env, ...(file === undefined ? {} : { AGENTS_FILE: file }) };
      // Next to a service of `baton start`, there may be no catalogue.
      const local = listed === null || existsSync('agents.yml') ? await check(environment) : [];
      const checks = listed === null ? local : checksOfService(listed, local);
      output.document({ data: checks });
      output.line(table(['AGENT', 'BACKEND', 'BY', 'ANSWERS', 'TOOLS'], checks.map(rowOf)));
      for (const line of checks.flatMap(faultsOf)) output.line(`\n${line}`);
      const untested = checks.filter((one) => 'tested' in one && !one.tested).map(({ agent }) => agent);
      if (untested.length > 0) output.line(`\n${untestedNote(untested)}`);
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

/** Returns the agents of the service; null if no service is known or it does not respond. */
async function agentsOfService(command: Command): Promise<ListedAgent[] | null> {
  const { api, output } = contextOf(command);
  try {
    return (await api().call<CompleteList<ListedAgent>>('GET', '/api/v1/agents')).data;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    // Without a credential, there is no service to ask.
    if (error.exitCode !== EXIT.usage) output.note(`The service did not list its agents: ${error.message}`);
    return null;
  }
}

function untestedNote(agents: readonly string[]): string {
  return `Not tested: ${agents.join(', ')}. The service runs them with settings that this environment does not have, so the table shows their last calls. To test them, run this command with the settings of a task worker.`;
}

function rowOf(checked: AgentCheck | ServiceCheck): Cell[] {
  const { agent, backend, by, answers, tools } = checked;
  return [
    agent,
    backend,
    by === null || by.length <= 50 ? by : `${by.slice(0, 49)}…`,
    'tested' in checked && !checked.tested ? lastCallOf(checked) : shown(answers),
    tools?.ok ? { drawn: `${styled('green', '✔')} ${tools.count}, ${duration(tools.ms)}` } : shown(tools),
  ];
}

function lastCallOf({ last_call: last }: ServiceCheck): Cell {
  if (last === null) return 'not called yet';
  return { drawn: `${last.ok ? styled('green', '✔') : styled('red', '✘')} last call ${last.at}` };
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
