import { dirname } from 'node:path';
import { ask, contentOf } from '../ask.ts';
import type { Me } from '../commands/account.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import type { Api } from '../http.ts';
import type { Io } from '../io.ts';
import { printable } from '../output.ts';
import { carryOut } from './carry-out.ts';
import type { Step } from './change.ts';
import { describeApplied, describeChanges, describeUnknown } from './describe.ts';
import { parseWorkspaceFile } from './parse.ts';
import { partsOf, planChanges } from './plan.ts';
import { readState } from './read-state.ts';
import type { WorkspaceFile } from './schema.ts';
import { readSecrets } from './secrets.ts';

export type ApplyOptions = { file: string; yes?: true; dryRun?: true; prune?: boolean };

/** Compares a file with the workspace, shows the difference, and applies it if the options or the user say so. */
export async function applyFile(options: ApplyOptions, context: Context, io: Io): Promise<void> {
  const { output, env } = context;
  const { api, me, state, plan } = await compare(options, context, io);
  const { changes, notes } = plan;
  const steps = changes.map((change): Step => ({ change, status: 'pending' }));
  const report = () => output.document({ changes: steps.map(stepDocument), notes });
  const isAsking = canAsk(options, io) && changes.length > 0;
  const difference = describeChanges(changes);
  // With --json, a person who is asked must see the changes, too.
  if (isAsking && output.json) output.note(difference);
  else output.line(difference);
  for (const note of notes) output.note(printable(note));
  if (changes.length === 0) return report();
  const isAllowed = options.yes === true || (isAsking && (await isConfirmed(me, api, io)));
  if (options.dryRun === true || !isAllowed) {
    report();
    if (options.dryRun !== true) output.note('Nothing was changed. Use --yes to apply without a question');
    io.exitCode = EXIT.unapplied;
    return;
  }
  try {
    await carryOut(steps, {
      api,
      secrets: readSecrets(changes, env, options.file === '-' ? '.' : dirname(options.file)),
      projectIds: new Map(state.projects.map(({ key, id }) => [key, id])),
      signal: io.abortedBy(['SIGINT', 'SIGTERM']),
      onApplied: (step) => output.line(describeApplied(step)),
      onUnknown: (step) => output.line(describeUnknown(step)),
      onRetry: (reason) => output.note(`${reason}; retrying`),
    });
    output.line(`Applied: ${steps.length} of ${steps.length} changes`);
  } finally {
    // Also after a failure, because it contains what is shown once.
    report();
  }
}

/** @throws CliError for a file that is invalid or describes what the workspace cannot become */
async function compare({ file: path, prune = false }: ApplyOptions, context: Context, io: Io) {
  const { file, invalid } = parseWorkspaceFile(await contentOf(path, io), path === '-' ? 'stdin' : path);
  const api = await context.apiForPeople();
  const me = await api.call<Me>('GET', '/api/v1/me');
  checkCredential(me, file);
  const state = await readState(api, partsOf(file));
  const credentials = { userId: me.user?.id ?? null, keyId: await ownKeyId(context, me) };
  const plan = planChanges(file, state, { prune, now: new Date(), ...credentials });
  if (plan.faults.length > 0) throw invalid(plan.faults);
  return { api, me, state, plan };
}

/** A key sees only its own project, so that its list must not be compared with the file. */
function checkCredential({ kind }: Me, { projects, members, keys }: WorkspaceFile): void {
  if (kind === 'person' || (projects ?? members ?? keys) === undefined) return;
  throw new CliError(
    EXIT.refused,
    'An API key can only apply `webhooks`. Sign in as an admin with `baton login` for projects, members and keys',
  );
}

/** Returns the id of the key of other commands, which in a checkout is not the credential of this one. */
async function ownKeyId(context: Context, me: Me): Promise<string | null> {
  if (me.key !== null) return me.key.id;
  return (await context.api().call<Me>('GET', '/api/v1/me')).key?.id ?? null;
}

/** A file from standard input leaves nothing to read the answer from. */
function canAsk({ file, yes, dryRun }: ApplyOptions, { stdin }: Io): boolean {
  return stdin.isTTY === true && file !== '-' && yes !== true && dryRun !== true;
}

async function isConfirmed({ workspace }: Me, { baseUrl }: Api, io: Io): Promise<boolean> {
  const question = `Apply these changes to workspace "${printable(workspace.name)}" at ${baseUrl}? [y/N] `;
  return /^\s*y/i.test(await ask(io, question, { instead: '--yes' }));
}

function stepDocument({ change, status, result }: Step): object {
  const { action, kind, name, project, fields } = change;
  return { action, kind, name, project, fields, status, result };
}
