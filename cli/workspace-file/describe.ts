import { describeInvitation, type NewInvitation } from '../commands/invitation.ts';
import { describeNew, type NewKey } from '../commands/key.ts';
import { secretLines } from '../commands/webhook.ts';
import { fields, printable, styled } from '../output.ts';
import { titleOf, type Change, type FieldChange, type Step } from './change.ts';

const SIGNS = {
  create: ['green', '+'],
  change: ['yellow', '~'],
  delete: ['red', '-'],
} as const;

const DONE: Record<Change['action'], string> = { create: 'created', change: 'changed', delete: 'deleted' };
/** The words of the commands that do the same. */
const DELETED: Partial<Record<Change['kind'], string>> = {
  member: 'removed',
  invitation: 'revoked',
  key: 'revoked',
};

/** Formats the changes as a difference, with their number. */
export function describeChanges(changes: readonly Change[]): string {
  if (changes.length === 0) return 'No changes';
  const counts = (['create', 'change', 'delete'] as const).map((action) => {
    const count = changes.filter((change) => change.action === action).length;
    return count === 0 ? [] : `${count} to ${action}`;
  });
  return `${changes.map(describeChange).join('\n')}\n\n${counts.flat().join(', ')}`;
}

function describeChange(change: Change): string {
  const [colour, sign] = SIGNS[change.action];
  const head = styled(colour, `${sign} ${printable(titleOf(change))}`);
  const rows = fields(change.fields.map((row) => [row.field, valueText(row, change.action)]));
  return [head, ...(rows === '' ? [] : rows.split('\n').map((line) => `    ${line}`))].join('\n');
}

function valueText({ before, after }: FieldChange, action: Change['action']): string {
  if (action === 'create') return after ?? '';
  return action === 'delete' ? (before ?? '') : `${before ?? 'none'} → ${after ?? 'none'}`;
}

/** Formats a change that was applied, with what is shown once: a key, a generated secret, the link of an invitation. */
export function describeApplied({ change, result }: Step): string {
  const { action, kind, secret } = change;
  const shown = sentence(change, (action === 'delete' && DELETED[kind]) || DONE[action]);
  if (action !== 'delete' && kind === 'invitation')
    return `${shown}\n${describeInvitation(result as NewInvitation)}\n`;
  if (action === 'create' && kind === 'key') return `${shown}\n${describeNew(result as NewKey)}\n`;
  if (secret?.source.from !== 'generated') return shown;
  return `${shown}\n${secretLines((result as { secret: string }).secret)}\n`;
}

/** Formats a change that may have taken effect, with its generated secret. */
export function describeUnknown({ change, result }: Step): string {
  const secret = (result as { secret: string } | undefined)?.secret;
  const shown = sentence(change, 'may have taken effect');
  return secret === undefined ? shown : `${shown}\n${secretLines(secret)}\n`;
}

/** Returns what to do after a change that may have taken effect, if its response showed something once. */
export function adviceFor({ action, kind, secret }: Change): string {
  if (secret?.source.from === 'generated')
    return 'The output contains its secret. If signatures do not match it, run `baton webhook rotate-secret`. ';
  if (action === 'delete') return '';
  if (kind === 'key')
    return 'If `baton key list` contains it, run `baton key revoke`: the key itself is lost. ';
  if (kind === 'invitation')
    return 'If `baton member invitations` contains it, run `baton member uninvite`: the link is lost. ';
  return '';
}

function sentence(change: Change, predicate: string): string {
  const line = printable(`${titleOf(change)} ${predicate}`);
  return line.charAt(0).toUpperCase() + line.slice(1);
}

/** Formats how far the changes got before a failure. */
export function describeRest(steps: readonly Step[]): string {
  const applied = steps.filter(({ status }) => status === 'applied').length;
  const rest = steps.filter(({ status }) => status !== 'applied').map(({ change }) => titleOf(change));
  return `Applied: ${applied} of ${steps.length} changes. Not applied: ${rest.join(', ')}. Run the command again to continue.`;
}
