import type { Command, Option } from 'commander';
import { EXIT_CODES_HELP } from '../../cli/exit-codes.ts';
import { createProgram } from '../../cli/program.ts';
import { markdownTable, pageHead } from './write.ts';

/** Renders every command of `baton` with its options, from the definitions of the command line. */
export function cliPage(): string {
  const program = createProgram();
  const groups = program.commands.map((command) => section(command, 'baton'));
  return `${[
    pageHead('The command line', '`cli/program.ts` and the commands that it names'),
    '`npx baton COMMAND` calls the HTTP API. It reads the address from `--url` or `BATON_URL`. It reads the credentials from',
    '`BATON_API_KEY`, otherwise from the session of `baton login`, otherwise from `.local/credentials.json` while `npm start` runs in',
    'this checkout, or from `.baton/credentials.json` while `npx baton start` runs in this folder. See',
    '[configuration](../configuration.md#command-line) for all variables, and `npx baton COMMAND --help` in a terminal. Separate',
    'several values of one option with spaces: `--state completed failed`.',
    '',
    'With the credentials of the local service, commands that manage a workspace act as its admin: `baton project`, `member`, `key`,',
    '`apply` and `export`. They keep the session of this admin in the same folder. All other commands use the API key of the local',
    'service. With `BATON_API_KEY`, every command uses that key. What only people can do then fails with 403.',
    '',
    'Options of every command:',
    '',
    optionsTable(program.options),
    '',
    '## Exit codes',
    '',
    markdownTable(['code', 'means'], exitCodes()),
    '',
    ...groups,
  ]
    .join('\n')
    .trimEnd()}\n`;
}

/** Renders a top-level command, which may be a group of commands. */
function section(command: Command, parent: string): string {
  const name = `${parent} ${command.name()}`;
  return described(command, name, '##', command.commands.length === 0 || isDoing(command));
}

function described(command: Command, name: string, level: string, isCalled: boolean): string {
  const options = isCalled ? optionsTable(command.options) : '';
  return [
    `${level} ${name}`,
    '',
    `${command.description()}.`,
    '',
    ...(isCalled ? [usage(command, name), ''] : []),
    ...(options === '' ? [] : [options, '']),
    ...command.commands.map((one) =>
      described(one, `${name} ${one.name()}`, `${level}#`, one.commands.length === 0 || isDoing(one)),
    ),
  ].join('\n');
}

/** Returns whether a group can be called without one of its commands. */
function isDoing(command: Command): boolean {
  return '_actionHandler' in command && command._actionHandler != null;
}

function usage(command: Command, name: string): string {
  const words = command.registeredArguments.map((argument) => {
    const shown = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${shown}>` : `[${shown}]`;
  });
  const required = command.options
    .filter((option) => option.mandatory)
    .map((option) => option.flags.replace(/^-\w, /, ''));
  const more = command.options.some((option) => !option.mandatory) ? ['[options]'] : [];
  return `\`${[name, ...words, ...required, ...more].join(' ')}\``;
}

function optionsTable(options: readonly Option[]): string {
  const rows = options
    .filter((option) => !option.hidden)
    .map((option) => [`\`${option.flags}\``, meaning(option)]);
  return rows.length === 0 ? '' : markdownTable(['option', 'means'], rows);
}

function meaning(option: Option): string {
  const choices =
    option.argChoices === undefined ? [] : [option.argChoices.map((one) => `\`${one}\``).join(', ')];
  const given = option.defaultValue === undefined || typeof option.defaultValue === 'boolean';
  const fallback = given ? [] : [`default: \`${String(option.defaultValue)}\``];
  const needed = option.mandatory ? ['required'] : [];
  return [option.description, ...choices, ...fallback, ...needed].filter((part) => part !== '').join('; ');
}

/** Returns the exit codes as the help lists them. */
function exitCodes(): string[][] {
  return EXIT_CODES_HELP.split('\n').flatMap((line) => {
    const [, code, means] = /^ {2}(\d+)\s+(.+)$/.exec(line) ?? [];
    return code === undefined || means === undefined ? [] : [[code, means]];
  });
}
