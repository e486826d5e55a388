import type { Command } from 'commander';
import { readPassword } from '../ask.ts';
import { CliError, EXIT, usageError } from '../exit-codes.ts';
import { createOutput, fields } from '../output.ts';
import { addVersionCommands } from './admin-versions.ts';

type SetupOptions = {
  workspace: string;
  project: string;
  projectKey?: string;
  email: string;
  name?: string;
  passwordStdin?: true;
};

/** `baton admin …`: the only commands that open the database, or speak to Temporal. */
export function addAdminCommands(program: Command): void {
  const admin = program
    .command('admin')
    .description('Set-up and care of an installation (opens DATABASE_URL, or Temporal)');
  addVersionCommands(admin);
  admin
    .command('migrate')
    .description('Bring the database to the newest schema')
    .action(async (_options: object, command: Command) => {
      const { migrate } = await import('../../src/database/migrate.ts');
      const url = databaseUrl();
      await inDatabase(() => migrate(url));
      const output = outputOf(command);
      output.document({ migrated: true });
      output.line('The database has the newest schema');
    });
  admin
    .command('setup')
    .description('Make the first workspace, its project, its owner and an API key')
    .requiredOption('--workspace <name>')
    .requiredOption('--project <name>')
    .option('--project-key <KEY>', 'made from the name unless given')
    .requiredOption('--email <address>', 'of the owner')
    .option('--name <text>', 'of the owner')
    .option('--password-stdin', "read the owner's password from stdin; one is made unless given")
    .action(async (options: SetupOptions, command: Command) => {
      const url = databaseUrl();
      const password = options.passwordStdin ? await readPassword(true, '') : undefined;
      const made = await inDatabase(() => setUp(url, options, password));
      const output = outputOf(command);
      output.document(made);
      output.line(
        fields([
          ['Workspace', made.workspace_id],
          ['Project', made.project_id],
          ['API key', made.api_key],
          ['Owner', made.admin_email],
          ['Password', password === undefined ? made.admin_password : null],
        ]),
      );
      output.line('\nKey and password are not shown again.');
    });
}

async function setUp(url: string, options: SetupOptions, password: string | undefined) {
  const { migrate } = await import('../../src/database/migrate.ts');
  const { setUpInstallation } = await import('../../src/installation.ts');
  await migrate(url);
  return await setUpInstallation(url, {
    workspaceName: options.workspace,
    projectName: options.project,
    adminEmail: options.email,
    ...(options.projectKey === undefined ? {} : { projectKey: options.projectKey }),
    ...(options.name === undefined ? {} : { adminName: options.name }),
    ...(password === undefined ? {} : { adminPassword: password }),
  });
}

function outputOf(command: Command) {
  return createOutput(command.optsWithGlobals<{ json?: true }>().json === true);
}

function databaseUrl(): string {
  const url = process.env.DATABASE_URL;
  if (!url) throw usageError('Set DATABASE_URL to the database of the installation');
  return url;
}

/** Turns what a database says into a sentence: refusals of ours as they are, all else without its inner workings. */
async function inDatabase<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name === 'AlreadyInstalled') throw new CliError(EXIT.refused, error.message);
    const why = [codeOf(error), firstLineOf(error)].filter((part) => part !== '').join(': ');
    throw new CliError(EXIT.unavailable, `The database of DATABASE_URL cannot be used (${why})`);
  }
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function firstLineOf(error: Error): string {
  const [line = ''] = error.message.split('\n');
  // Driver messages may quote the address, which has a password in it.
  return line.replaceAll(/\/\/[^@\s]*@/g, '//…@');
}
