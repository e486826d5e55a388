import { writeFileSync } from 'node:fs';
import { hasRole } from '../../src/domain/people/access.ts';
import type { Me } from '../commands/account.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit-codes.ts';
import { printable } from '../output.ts';
import { contentOfState, yamlOf } from './export-content.ts';
import { readState } from './read-state.ts';
import { PARTS, type WorkspacePart } from './state.ts';

export type ExportOptions = { output?: string; force?: true };

/** Writes what the credential can read of its workspace as a workspace file, to a file or to stdout. */
export async function exportFile(options: ExportOptions, context: Context): Promise<void> {
  const { output, baseUrl } = context;
  const api = await context.apiForPeople();
  const me = await api.call<Me>('GET', '/api/v1/me');
  const parts = readableParts(me);
  if (parts.length === 0)
    throw new CliError(
      EXIT.refused,
      'This credential cannot read any part of the workspace that a file describes',
    );
  const content = contentOfState(await readState(api, parts), parts);
  const text = yamlOf(content, commentOf(me, baseUrl, parts));
  output.document(content);
  if (options.output === undefined) {
    if (!output.json) output.write(text);
    return;
  }
  write(options.output, text, options.force === true);
  output.line(`${options.output} written`);
}

/** A key sees only its own project, so it exports none. */
export function readableParts({ kind, role, scopes }: Pick<Me, 'kind' | 'role' | 'scopes'>): WorkspacePart[] {
  const isAdmin = role !== null && hasRole(role, 'admin');
  return PARTS.filter((part) => {
    if (part === 'webhooks') return scopes.includes('webhooks:read');
    return kind === 'person' && (part === 'projects' || part === 'members' || isAdmin);
  });
}

function commentOf({ workspace }: Me, baseUrl: string, parts: readonly WorkspacePart[]): string[] {
  const missing = PARTS.filter((part) => !parts.includes(part));
  return [
    `Workspace "${printable(workspace.name)}" at ${baseUrl}, written by \`baton export\`.`,
    'Fields: docs/how-to/configuration-as-code.md',
    '',
    'This file does not contain:',
    '- secrets of webhooks, and keys themselves. `secret_env` or `secret_file` says where the secret of a new webhook',
    '  comes from. Otherwise it is generated',
    '- names and passwords of people',
    '- keys that are revoked, expired or replaced, and webhooks of `baton listen`',
    '- tasks, events and deliveries',
    ...(missing.length === 0 ? [] : [`- ${missing.join(', ')}: you cannot read them with this credential`]),
  ];
}

function write(path: string, text: string, isForced: boolean): void {
  try {
    writeFileSync(path, text, { flag: isForced ? 'w' : 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw usageError(
        `${path} exists. Use --force to replace it, with its comments, \`secret_env\` and \`secret_file\``,
      );
    throw usageError(`Cannot write ${path}`);
  }
}
