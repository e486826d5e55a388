import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { eventBodyOf, eventTypeOf, eventTypes, type SendOptions } from '../event-options.ts';
import { ioOf } from '../io.ts';
import { jsonText, styled, table } from '../output.ts';
import type { Accepted, CompleteList } from '../shapes.ts';

const FILE_HELP = 'file with events, `-` for stdin: a JSON array or one event per line';

/** `baton event send`, `baton event-types` */
export function addEventCommands(program: Command): void {
  program
    .command('event')
    .description('Send workspace events and list their kinds')
    .command('send')
    .description('Send one event, or many from a file')
    .option('--event <kind>', 'event kind, for example issue.created')
    .option('--data <json>', 'event data; @PATH reads a file, - reads stdin')
    .option('--sample', "use the kind's sample data")
    .option('--id <id>', 'event id, makes a repeat safe; default: generated')
    .option('--timestamp <time>', 'when it happened (ISO 8601); default: now')
    .option('--file <path>', FILE_HELP)
    .action(async (options: SendOptions, command: Command) => {
      const { api, output } = contextOf(command);
      const text = await eventBodyOf(options, api, ioOf(command));
      const answer = await api().call<Accepted | CompleteList<Accepted>>('POST', '/api/v1/events', { text });
      output.document(answer);
      for (const { id, duplicate } of 'data' in answer ? answer.data : [answer]) {
        output.line(`${id} ${duplicate ? 'already sent' : 'accepted'}`);
      }
    });
  program
    .command('event-types')
    .description('List event kinds, or show one with its schema and a sample')
    .argument('[kind]', 'for example issue.created')
    .action(async (kind: string | undefined, _options: object, command: Command) => {
      const { api, output } = contextOf(command);
      if (kind === undefined) {
        const types = await eventTypes(api());
        output.document({ data: types });
        const rows = types.map(({ event, description }) => [event, description]);
        return output.line(table(['EVENT', 'MEANING'], rows));
      }
      const type = await eventTypeOf(api(), kind);
      output.document(type);
      output.line(`${styled('bold', type.event)}  ${type.description}`);
      output.line(`\nSample payload\n${jsonText(type.sample, 2)}`);
      output.line(`\nSchema\n${jsonText(type.schema, 2)}`);
    });
}
