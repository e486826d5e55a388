import type { Command } from 'commander';
import { newToken, type Token } from '../channel-token.ts';
import { contextOf } from '../context.ts';
import type { Api } from '../http.ts';
import { ioOf } from '../io.ts';
import { bridge } from '../mcp-bridge.ts';
import { ownProject } from '../task-options.ts';

type Options = { project?: string };

/** How long before its end a token is replaced, in milliseconds. */
const RENEWAL_MS = 60_000;
const HELP = `
For programs that start a server and write to its standard input, such as desktop clients.
Messages are passed to /mcp of the service. Standard output contains only messages.`;

/** `baton mcp` */
export function addMcpCommand(program: Command): void {
  program
    .command('mcp')
    .description('Serve the Model Context Protocol over standard input and output')
    .option('--project <id>', 'project of submitted tasks, for users; default: the only project')
    .addHelpText('after', HELP)
    .action(async ({ project }: Options, command: Command) => {
      const { api: open, baseUrl, output } = contextOf(command);
      const { stdin: input, stdout } = ioOf(command);
      const api = open();
      output.endWithoutReader();
      // A wrong credential or address is reported at once, where the client shows it.
      await api.call('GET', '/api/v1/me');
      const credential = credentialOf(api, project);
      await credential();
      const write = (line: string) => void stdout.write(`${line}\n`);
      await bridge({ baseUrl, credential, input, write, note: output.note });
    });
}

/** The endpoint accepts keys and tokens. For a signed-in user, tokens are created. */
function credentialOf(api: Api, given: string | undefined): () => Promise<Record<string, string>> {
  if (api.headers['cookie'] === undefined) return async () => api.headers;
  let project = given;
  let current: (Token & { createdAt: number }) | null = null;
  return async () => {
    if (current === null || performance.now() - current.createdAt > current.lifetimeMs - RENEWAL_MS) {
      const createdAt = performance.now();
      project ??= await ownProject(api);
      const token = await newToken(api, project);
      current = { ...token, createdAt };
    }
    return { authorization: `Bearer ${current.token}` };
  };
}
