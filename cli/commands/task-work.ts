import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { EXIT, CliError } from '../exit-codes.ts';
import { ioOf } from '../io.ts';
import { duration, table } from '../output.ts';
import type { AgentCall, Artifact, Page, Usage, CompleteList } from '../shapes.ts';
import { taskPath } from '../task-path.ts';

type CallOptions = { kind?: string; limit?: string; cursor?: string };

/** `baton task artifacts` and `baton task calls`: the documents and the calls of a run's agents. */
export function addWorkCommands(task: Command): void {
  task
    .command('artifacts <execution-id>')
    .description('List the documents of a run, or download one')
    .option('--download <name>', 'download this document into a file with the same name')
    .option('--output <path>', 'write the document to this path, `-` for stdout')
    .action(async (id: string, options: { download?: string; output?: string }, command: Command) => {
      const { api, output } = contextOf(command);
      const path = `${taskPath(id)}/artifacts`;
      const { download } = options;
      if (download === undefined) {
        const list = await api().call<CompleteList<Artifact>>('GET', path);
        output.document(list);
        output.line(describeArtifacts(list.data));
        return;
      }
      const response = await api().open('GET', `${path}/${encodeURIComponent(download)}`);
      const bytes = Buffer.from(await response.arrayBuffer());
      // The service guarantees a name without a path. It is checked anyway, because a file is written there.
      const target = options.output ?? download.replaceAll(/[/\\]/g, '_');
      if (target === '-') {
        ioOf(command).stdout.write(bytes);
        return;
      }
      await write(target, bytes);
      output.document({ name: download, path: target, size: bytes.length });
      output.line(`${target}: ${bytes.length} bytes`);
    });
  task
    .command('calls <execution-id>')
    .description('List model and tool calls')
    .option('--kind <kind>', 'only model or tool calls')
    .option('--limit <n>', 'rows, 1 to 200')
    .option('--cursor <cursor>', 'next_cursor of the previous page')
    .action(async (id: string, { kind, limit, cursor }: CallOptions, command: Command) => {
      const { api, output } = contextOf(command);
      const query = { kind, limit, cursor };
      const page = await api().call<Page<AgentCall>>('GET', `${taskPath(id)}/calls`, { query });
      output.document(page);
      output.line(describeCalls(page.data));
      if (page.next_cursor !== null) output.line(`\nMore: --cursor ${page.next_cursor}`);
    });
}

/** Never overwrites a file. */
async function write(path: string, bytes: Buffer): Promise<void> {
  try {
    await writeFile(path, bytes, { flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CliError(EXIT.usage, code === 'EEXIST' ? `${path} already exists` : message);
  }
}

function describeArtifacts(artifacts: readonly Artifact[]): string {
  if (artifacts.length === 0) return 'No documents';
  const rows = artifacts.map(({ name, media_type, size, step, agent, created_at }) => [
    name,
    media_type,
    `${size} bytes`,
    step,
    agent,
    created_at,
  ]);
  return table(['NAME', 'TYPE', 'SIZE', 'STEP', 'AGENT', 'CREATED'], rows);
}

function describeCalls(calls: readonly AgentCall[]): string {
  if (calls.length === 0) return 'No calls';
  const rows = calls.map((call) => [
    call.step ?? 'planning',
    call.attempt,
    call.number,
    call.name,
    call.usage === null ? '' : tokens(call.usage),
    duration(call.duration_ms),
    call.failure ?? 'ok',
    call.started_at,
  ]);
  return table(['STEP', 'ATTEMPT', '#', 'CALL', 'TOKENS', 'DURATION', 'OUTCOME', 'STARTED'], rows);
}

function tokens({ input_tokens, output_tokens }: Usage): string {
  return `${input_tokens} in, ${output_tokens} out`;
}
