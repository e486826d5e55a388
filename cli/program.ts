import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { addAccountCommands } from './commands/account.ts';
import { addAdminCommands } from './commands/admin.ts';
import { addAgentCommands } from './commands/agents.ts';
import { addDeliveryCommands } from './commands/delivery.ts';
import { addEventCommands } from './commands/event.ts';
import { addInitCommand } from './commands/init.ts';
import { addKeyCommands } from './commands/key.ts';
import { addListenCommand } from './commands/listen.ts';
import { addMcpCommand } from './commands/mcp.ts';
import { addMemberCommands } from './commands/member.ts';
import { addProjectCommands } from './commands/project.ts';
import { addReceiverCommand } from './commands/receiver.ts';
import { addSessionCommands } from './commands/session.ts';
import { addStartCommand } from './commands/start.ts';
import { addTaskCommands } from './commands/task.ts';
import { addWebhookCommands } from './commands/webhook.ts';
import { addWorkspaceFileCommands } from './commands/workspace-file.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import { connectIo, type Io, processIo } from './io.ts';
import { ROOT } from './local-service.ts';

const ENVIRONMENT_HELP = `
Environment:
  BATON_URL        address of the service (http://localhost:3000)
  BATON_API_KEY    API key; default: the session of \`baton login\`, or the key of a running
                   local service (\`npm start\` or \`baton start\`)
  NO_COLOR         no colours`;

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

/** Every command of `baton`, with its options. */
export function createProgram(io: Io = processIo()): Command {
  const program = new Command('baton')
    .description('Submit tasks to Baton and follow their runs, send events, and manage webhooks and access')
    .option('--json', 'print JSON: one document, or one per line for watch and events')
    .option('-v, --verbose', 'print details to stderr')
    .option('--url <address>', 'address of the service, instead of BATON_URL')
    .addHelpText('after', `${ENVIRONMENT_HELP}\n${EXIT_CODES_HELP}`)
    .version(version)
    .showHelpAfterError('(see --help)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    });
  connectIo(program, io);
  addStartCommand(program);
  addInitCommand(program);
  addTaskCommands(program);
  addAgentCommands(program);
  addEventCommands(program);
  addWebhookCommands(program);
  addDeliveryCommands(program);
  addKeyCommands(program);
  addProjectCommands(program);
  addMemberCommands(program);
  addWorkspaceFileCommands(program);
  addAccountCommands(program);
  addSessionCommands(program);
  addAdminCommands(program);
  addReceiverCommand(program);
  addListenCommand(program);
  addMcpCommand(program);
  return program;
}
