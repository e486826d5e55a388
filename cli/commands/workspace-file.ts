import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { ioOf } from '../io.ts';
import type { ApplyOptions } from '../workspace-file/apply.ts';
import type { ExportOptions } from '../workspace-file/export.ts';

/** `baton apply` and `baton export`. Other commands do not load the YAML parser and the schemas. */
export function addWorkspaceFileCommands(program: Command): void {
  program
    .command('apply')
    .description('Show how the workspace differs from a file, ask, and change the workspace to match')
    .requiredOption('-f, --file <path>', 'YAML file with projects, members, keys and webhooks; - for stdin')
    .option('--dry-run', 'only show the changes. Exits with 7 if there are any')
    .option('-y, --yes', 'apply without asking. Without a terminal and without this option, only show')
    .option('--prune', 'also delete what the lists of the file do not contain')
    .action(async (options: ApplyOptions, command: Command) => {
      const { applyFile } = await import('../workspace-file/apply.ts');
      await applyFile(options, contextOf(command), ioOf(command));
    });
  program
    .command('export')
    .description(
      'Write the projects, members, keys and webhooks of the workspace as a file for `baton apply`',
    )
    .option('-o, --output <path>', 'write to this file, which must not exist; default: stdout')
    .option('--force', 'replace the file')
    .action(async (options: ExportOptions, command: Command) => {
      const { exportFile } = await import('../workspace-file/export.ts');
      await exportFile(options, contextOf(command));
    });
}
