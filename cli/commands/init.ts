import type { Command } from 'commander';
import { outputOf } from '../context.ts';
import { writeStarterFiles } from '../init.ts';
import { ioOf } from '../io.ts';

/** `baton init` */
export function addInitCommand(program: Command): void {
  program
    .command('init')
    .description('Write starter files into this folder: agents, a receiver, two compose files')
    .addHelpText('after', '\nExisting files are not changed. A checkout contains these files already.')
    .action((_options: object, command: Command) => {
      const output = outputOf(command);
      const files = writeStarterFiles(process.cwd(), ioOf(command).env);
      output.document({ data: files });
      for (const { path, written, about } of files) {
        output.line(`${(written ? path : `${path} (exists)`).padEnd(24)} ${about}`);
      }
    });
}
