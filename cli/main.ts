import { Command, CommanderError } from 'commander';
import { addAccountCommands } from './commands/account.ts';
import { addAdminCommands } from './commands/admin.ts';
import { addAgentCommands } from './commands/agents.ts';
import { addDeliveryCommands } from './commands/delivery.ts';
import { addEventCommands } from './commands/event.ts';
import { addKeyCommands } from './commands/key.ts';
import { addListenCommand } from './commands/listen.ts';
import { addMemberCommands } from './commands/member.ts';
import { addProjectCommands } from './commands/project.ts';
import { addReceiverCommand } from './commands/receiver.ts';
import { addSessionCommands } from './commands/session.ts';
import { addTaskCommands } from './commands/task.ts';
import { addWebhookCommands } from './commands/webhook.ts';
import { CliError, EXIT, EXIT_CODES_HELP } from './exit-codes.ts';

const ENVIRONMENT_HELP = `
Environment:
  BATON_URL        address of the service (http://localhost:3000)
  BATON_API_KEY    an API key; without it the session of \`baton login\` is used,
                   and in a checkout where \`npm start\` runs its .local/credentials.json
  NO_COLOR         no colours`;

process.once('SIGINT', () => process.exit(EXIT.interrupted));
// `baton task list | head` is no mistake.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.usage),
);

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = exitCodeFor(error);
}

function createProgram(): Command {
  const program = new Command('baton')
    .description(
      'Submit tasks to Baton and follow their runs, send events and manage webhooks, say who may do so',
    )
    .option('--json', 'print JSON: one document, or one on each line for watch and events')
    .option('-v, --verbose', 'say on stderr how it is done')
    .option('--url <address>', 'address of the service, instead of BATON_URL')
    .addHelpText('after', `${ENVIRONMENT_HELP}\n${EXIT_CODES_HELP}`)
    .showHelpAfterError('(see --help)')
    .exitOverride();
  addTaskCommands(program);
  addAgentCommands(program);
  addEventCommands(program);
  addWebhookCommands(program);
  addDeliveryCommands(program);
  addKeyCommands(program);
  addProjectCommands(program);
  addMemberCommands(program);
  addAccountCommands(program);
  addSessionCommands(program);
  addAdminCommands(program);
  addReceiverCommand(program);
  addListenCommand(program);
  return program;
}

/** Says what went wrong, never with a stack, and gives the exit code. */
function exitCodeFor(error: unknown): number {
  // Commander has said it already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`baton: ${message}\n`);
  return error instanceof CliError ? error.exitCode : EXIT.usage;
}
