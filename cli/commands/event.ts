import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { eventBodyOf, eventTypeOf, eventTypes, type SendOptions } from '../event-options.ts';
import { ioOf } from '../io.ts';
import { styled, table } from '../output.ts';
import type { Accepted, Whole } from '../shapes.ts';

const FILE_HELP = 'events from a file, `-` for stdin: a JSON array, or one event a line';

/** `baton event send`, `baton event-types` */
export function addEventCommands(program: Command): void {
  program
    .command('event')
    .description('Tell of what happened in the workspace')
    .command('send')
    .description('Send one event, or many from a file')
    .option('--event <kind>', 'what happened, for example issue.created')
    .option('--data <json>', 'its data; @PATH reads a file, - reads stdin')
    .option('--sample', "the kind's sample as its data")
    .option('--id <id>', 'makes a repeat harmless; made by the service unless given')
    .option('--timestamp <time>', 'when it happened (ISO 8601); now unless given')
    .option('--file <path>', FILE_HELP)
    .action(async (options: SendOptions, command: Command) => {
      const { api, output } = contextOf(command);
      const text = await eventBodyOf(options, api, ioOf(command));
      const answer = await api().call<Accepted | Whole<Accepted>>('POST', '/api/v1/events', { text });
      output.document(answer);
      for (const { id, duplicate } of 'data' in answer ? answer.data : [answer]) {
        output.line(`${id} ${duplicate ? 'was sent before' : 'accepted'}`);
      }
    });
  program
    .command('event-types')
    .description('List the kinds of events, or show one with its schema and a sample')
    .argument('[kind]', 'for example issue.created')
    .action(async (kind: string | undefined, _options: object, command: Command) => {
      const { api, output } = contextOf(command);
      if (kind === undefined) {
        const types = await eventTypes(api());
        output.document({ data: types });
        const rows = types.map(({ event, description }) => [event, description]);
        return output.line(table(['EVENT', 'MEANS'], rows));
      }
      const type = await eventTypeOf(api(), kind);
      output.document(type);
      output.line(`${styled('bold', type.event)}  ${type.description}`);
      output.line(`\nA sample of what a webhook receives\n${JSON.stringify(type.sample, null, 2)}`);
      output.line(`\nIts schema\n${JSON.stringify(type.schema, null, 2)}`);
    });
}
