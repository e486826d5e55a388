import { Document, visit } from 'yaml';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import type { Key } from '../commands/key.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import type { Webhook } from '../shapes.ts';
import { titleOf } from './change.ts';
import type { WrittenFile } from './schema.ts';
import { withoutTemporary, type WorkspacePart, type WorkspaceState } from './state.ts';
import { fieldsOfWanted } from './webhook-fields.ts';

type Content = { [Name in keyof WrittenFile]-?: NonNullable<WrittenFile[Name]> };

/**
 * Returns these parts of a workspace as the content of a file, in an order that depends only on the content, without
 * defaults.
 * @throws CliError if a name does not identify one object
 */
export function contentOfState(current: WorkspaceState, parts: readonly WorkspacePart[]): Partial<Content> {
  const state = withoutTemporary(current);
  const projects = new Map(state.projects.map(({ id, key }) => [id, key]));
  const content: Content = {
    projects: state.projects.map(({ key, name }) => ({ key, name })).toSorted(by(({ key }) => key)),
    members: [...state.members, ...state.invitations]
      .map(({ email, role }) => ({ email, role }))
      .toSorted(by(({ email }) => email)),
    keys: state.keys
      .map((key) => contentOfKey(key, projects.get(key.project_id) ?? ''))
      .toSorted(by(({ project, name }) => `${project} ${name}`)),
    webhooks: state.webhooks.map(contentOfWebhook).toSorted(by(({ name }) => name)),
  };
  const repeated = [
    ...repeatedIn(content.keys.map(({ name, project }) => titleOf({ kind: 'key', name, project }))),
    ...repeatedIn(content.webhooks.map(({ name }) => titleOf({ kind: 'webhook', name }))),
  ];
  if (repeated.length > 0)
    throw new CliError(
      EXIT.failed,
      `Names must be unique in a file, but the workspace has several of ${repeated.join(', ')}. ` +
        'Rename webhooks with `baton webhook edit ID --name`, and revoke keys that are not needed',
    );
  return Object.fromEntries(
    Object.entries(content).filter(([name]) => parts.includes(name as WorkspacePart)),
  );
}

function contentOfKey({ name, scopes, expires_at }: Key, project: string): Content['keys'][number] {
  const known = scopes as NonNullable<Content['keys'][number]['scopes']>;
  return { name, project, scopes: known, ...(expires_at === null ? {} : { expires_at }) };
}

function contentOfWebhook(webhook: Webhook): Content['webhooks'][number] {
  const { name, description, url, events } = webhook;
  const defaults = fieldsOfWanted({ name, url, events: [] });
  const flags = (['active', 'include_secret_header', 'standard_webhooks', 'has_secret'] as const).filter(
    (field) => webhook[field] !== defaults[field],
  );
  return {
    name,
    ...(description === null ? {} : { description }),
    url,
    events: EVENT_KINDS.flatMap((kind) => events.filter(({ event }) => event === kind)).map(
      ({ event, filters }) => (filters.length === 0 ? { event } : { event, filters }),
    ),
    ...Object.fromEntries(flags.map((field) => [field, webhook[field]])),
  };
}

function repeatedIn(titles: readonly string[]): string[] {
  return [...new Set(titles.filter((title, index) => titles.indexOf(title) !== index))];
}

/** Compares by code units, which does not depend on the language of the machine. */
function by<T>(textOf: (value: T) => string): (one: T, other: T) => number {
  return (one, other) => (textOf(one) < textOf(other) ? -1 : textOf(one) > textOf(other) ? 1 : 0);
}

const UNSAFE = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/u;

/** Returns the content as YAML that is safe in a terminal, below a comment. */
export function yamlOf(content: Partial<Content>, comment: readonly string[]): string {
  const document = new Document(content, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === 'string' && UNSAFE.test(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  const text = document
    .toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER })
    // Only quoted texts contain these, where an escape means the same.
    .replaceAll(/(?!\n)[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, escaped);
  return `${comment.map((line) => `# ${line}`.trimEnd()).join('\n')}\n\n${text}`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
