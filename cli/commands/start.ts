import type { Command } from 'commander';
import { ioOf } from '../io.ts';
import { startService } from '../start-service.ts';

/** `baton start` */
export function addStartCommand(program: Command): void {
  program
    .command('start')
    .description('Run the whole service on this machine until Ctrl-C')
    .option('--no-tour', 'do not show the tour after the first start')
    .addHelpText(
      'after',
      '\nIn a checkout, does the same as `npm start`. Otherwise, the service and its data are in `.baton` of the current folder. The first start installs its packages there.',
    )
    .action(async ({ tour }: { tour: boolean }, command: Command) => {
      const io = ioOf(command);
      io.exitCode = await startService(tour ? [] : ['--no-tour'], io.env);
    });
}
