import type { Command } from 'commander';
import { readPassword } from '../ask.ts';
import { outputOf } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit-codes.ts';
import { ioOf } from '../io.ts';
import { fields, table } from '../output.ts';
import { addVersionCommands } from './admin-versions.ts';

type SetupOptions = {
  workspace: string;
  project: string;
  projectKey?: string;
  email: string;
  name?: string;
  passwordStdin?: true;
};

/** `baton admin …`: the only commands that use the database or Temporal directly. */
export function addAdminCommands(program: Command): void {
  const admin = program
    .command('admin')
    .description('Set up and maintain an installation (connects to DATABASE_URL or Temporal)');
  addVersionCommands(admin);
  admin
    .command('migrate')
    .description('Migrate the database to the latest schema')
    .action(async (_options: object, command: Command) => {
      const { migrate } = await import('../../src/database/migrate.ts');
      const url = databaseUrl(command);
      await inDatabase(() => migrate(url));
      const output = outputOf(command);
      output.document({ migrated: true });
      output.line('The database has the latest schema');
    });
  admin
    .command('reseal')
    .description('Re-encrypt all secrets in the database with the first key of BATON_SEALING_KEYS')
    .addHelpText('after', '\nSafe while the service runs. If interrupted, run it again.')
    .action(async (_options: object, command: Command) => {
      const { resealDatabase } = await import('../admin/reseal.ts');
      const done = await inDatabase(() => resealDatabase(ioOf(command).env));
      const output = outputOf(command);
      output.document({ data: done });
      const rows = done.map(({ column, resealed, unopened }) => [column, resealed, unopened]);
      output.line(table(['SECRETS', 'RE-ENCRYPTED', 'NOT DECRYPTED'], rows));
      const missing = new Set(done.flatMap(({ missingKeys }) => missingKeys));
      if (missing.size === 0) return;
      const names = [...missing].map((name) => `"${name}"`).join(', ');
      throw new CliError(
        EXIT.failed,
        `Some secrets cannot be decrypted. Add the old keys ${names} to BATON_SEALING_KEYS`,
      );
    });
  admin
    .command('after-restore')
    .description('Reconcile the database and Temporal after one of them was restored or lost')
    .option('--end-orphans', 'end runs that exist in Temporal but not in the database')
    .action(async (options: { endOrphans?: true }, command: Command) => {
      const endOrphans = options.endOrphans === true;
      const { afterRestore } = await import('../admin/after-restore.ts');
      const done = await inDatabase(() => afterRestore(ioOf(command).env, { endOrphans }));
      const output = outputOf(command);
      output.document(done);
      output.line(`Event groups resumed: ${done.groups}`);
      output.line(`Retries resumed: ${done.retries}`);
      const how = endOrphans ? 'ended' : 'not ended';
      output.line(`Runs only in Temporal, ${how}: ${done.orphans.length}`);
      for (const id of done.orphans) output.line(`  ${id}`);
    });
  admin
    .command('setup')
    .description('Create the first workspace with a project, an owner and an API key')
    .requiredOption('--workspace <name>', 'name of the workspace')
    .requiredOption('--project <name>', 'name of the project')
    .option('--project-key <KEY>', 'short key of the project in capitals; default: derived from the name')
    .requiredOption('--email <address>', 'e-mail address of the owner')
    .option('--name <text>', 'name of the owner')
    .option('--password-stdin', "read the owner's password from stdin; default: generated")
    .action(async (options: SetupOptions, command: Command) => {
      const { install, installationPlan } = await import('../admin/setup.ts');
      const url = databaseUrl(command);
      const password = options.passwordStdin ? await readPassword(true, '', ioOf(command)) : undefined;
      const plan = installationPlan({
        '--workspace': options.workspace,
        '--project': options.project,
        '--project-key': options.projectKey,
        '--email': options.email,
        '--name': options.name,
        '--password-stdin': password,
      });
      const made = await inDatabase(() => install(url, plan));
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
      output.line('\nThe key and the password are not shown again.');
    });
  addPasswordCommand(admin);
}

/** `baton admin reset-password`: the only way back in for the last owner of a workspace. */
function addPasswordCommand(admin: Command): void {
  admin
    .command('reset-password <e-mail>')
    .description('Give a member another initial password, which is shown once, and end all sessions')
    .option('--password-stdin', 'read the initial password from stdin; default: generated')
    .action(async (address: string, options: { passwordStdin?: true }, command: Command) => {
      const { newPassword, problemOfPassword, resetPasswordIn } = await import('../admin/reset-password.ts');
      const url = databaseUrl(command);
      const given = options.passwordStdin ? await readPassword(true, '', ioOf(command)) : undefined;
      const problem = given === undefined ? null : problemOfPassword(given);
      if (problem !== null) throw usageError(`The password is not valid: ${problem}`);
      const email = address.toLowerCase();
      const password = given ?? newPassword();
      const isReset = await inDatabase(() => resetPasswordIn(url, email, password));
      if (!isReset) throw new CliError(EXIT.refused, `No workspace has a member ${email}`);
      const shown = given === undefined ? password : null;
      const output = outputOf(command);
      output.document({ email, initial_password: shown });
      output.line(
        fields([
          ['E-mail', email],
          ['Initial password', shown],
        ]),
      );
    });
}

function databaseUrl(command: Command): string {
  const url = ioOf(command).env.DATABASE_URL;
  if (!url) throw usageError('Set DATABASE_URL to the database of the installation');
  return url;
}

/** Converts a database error into a sentence. Known errors stay unchanged; others lose their internals. */
async function inDatabase<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name === 'ConfigurationError') throw usageError(error.message);
    if (error.name === 'AlreadyInstalled') throw new CliError(EXIT.refused, error.message);
    const why = [codeOf(error), firstLineOf(error)].filter((part) => part !== '').join(': ');
    throw new CliError(EXIT.unavailable, `Cannot use ${whatOf(error)} (${why})`);
  }
}

function whatOf(error: Error): string {
  return error.message.startsWith('Failed to connect before') ? 'Temporal' : 'the database at DATABASE_URL';
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function firstLineOf(error: Error): string {
  const [line = ''] = error.message.split('\n');
  // Driver messages can contain the URL with its password.
  return line.replaceAll(/\/\/[^@\s]*@/g, '//…@');
}
