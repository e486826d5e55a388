import { exposesSecret, sendsSecretToNewUrl } from '../../src/domain/webhooks/webhook.ts';
import type { Webhook } from '../shapes.ts';
import type { Change, FieldChange, Part, SecretSource } from './change.ts';
import type { WantedWebhook } from './schema.ts';
import {
  fieldChanges,
  fieldsOfWanted,
  secretSourceOf,
  sourceText,
  type WebhookFields,
} from './webhook-fields.ts';

const WEBHOOKS = '/api/v1/webhooks';

/** Compares webhooks by name. */
export function planWebhooks(
  wanted: readonly WantedWebhook[],
  webhooks: readonly Webhook[],
  { prune }: { prune: boolean },
): Part {
  const part: Part = { changes: [], faults: [], notes: [] };
  const existing = Map.groupBy(webhooks, ({ name }) => name);
  const seen = new Set<string>();
  for (const [index, webhook] of wanted.entries()) {
    const found = existing.get(webhook.name) ?? [];
    const faults = seen.has(webhook.name)
      ? [{ path: [], message: `Webhook "${webhook.name}" is in the file twice.` }]
      : faultsOf(webhook, found);
    seen.add(webhook.name);
    part.faults.push(...faults.map(({ path, message }) => ({ path: ['webhooks', index, ...path], message })));
    if (faults.length === 0) part.changes.push(...changesOf(webhook, found[0]));
    if (found[0]?.status === 'disabled' && webhook.active !== false)
      part.notes.push(
        `Webhook "${webhook.name}" is disabled because of failures. \`baton webhook edit ${found[0].id} --active\` enables it.`,
      );
  }
  const superfluous = prune ? webhooks.filter(({ name }) => !seen.has(name)) : [];
  part.changes.push(...superfluous.map(deletion));
  return part;
}

/** Returns why the service would reject the change. */
function faultsOf(wanted: WantedWebhook, [found, ...others]: readonly Webhook[]): Part['faults'] {
  if (others.length > 0 && found !== undefined) {
    const ids = [found, ...others].map(({ id }) => id).join(', ');
    const message = `The workspace has several webhooks "${wanted.name}": ${ids}. Rename all except one with \`baton webhook edit ID --name\`.`;
    return [{ path: [], message }];
  }
  const before = found ?? { url: '', include_secret_header: false };
  const after = fieldsOfWanted(wanted);
  const faults: Part['faults'] = [];
  if (found?.has_secret && needsSecretAgain(found, wanted) && secretSourceOf(wanted).from === 'generated')
    faults.push({
      path: [],
      message: `Webhook "${wanted.name}" would send its secret to a new URL, which requires the secret. Add \`secret_env\` or \`secret_file\`.`,
    });
  if (exposesSecret(before, after) && wanted.allow_secret_over_http !== true)
    faults.push({
      path: ['include_secret_header'],
      message: `Webhook "${wanted.name}" would send its secret over plain http. Use https, or set \`allow_secret_over_http\`.`,
    });
  return faults;
}

function needsSecretAgain(found: Webhook, wanted: WantedWebhook): boolean {
  return sendsSecretToNewUrl(found, fieldsOfWanted(wanted));
}

function changesOf(wanted: WantedWebhook, found: Webhook | undefined): Change[] {
  const source = secretSourceOf(wanted);
  return found === undefined ? [creation(wanted, source)] : edit(wanted, found, source);
}

function creation(wanted: WantedWebhook, source: SecretSource): Change {
  const { secret_env: _env, secret_file: _file, has_secret: hasSecret = true, ...body } = wanted;
  const secretRow = { field: 'secret', before: null, after: hasSecret ? sourceText(source) : 'none' };
  return {
    action: 'create',
    kind: 'webhook',
    name: wanted.name,
    fields: [...fieldChanges(null, fieldsOfWanted(wanted)), secretRow],
    request: { method: 'POST', path: WEBHOOKS, body },
    ...(hasSecret ? { secret: { source, inHeader: body.include_secret_header === true } } : {}),
  };
}

/** A secret that exists is not compared, because nobody can read it. It is sent only if the service requires it. */
function edit(wanted: WantedWebhook, found: Webhook, source: SecretSource): Change[] {
  const after = fieldsOfWanted(wanted);
  const fields = fieldChanges(found, after);
  const isSent = after.has_secret && (!found.has_secret || needsSecretAgain(found, wanted));
  const isRemoved = found.has_secret && !after.has_secret;
  if (isSent) fields.push(secretChange(found, sourceText(source)));
  if (isRemoved) fields.push(secretChange(found, 'none'));
  if (fields.length === 0) return [];
  return [
    {
      action: 'change',
      kind: 'webhook',
      name: wanted.name,
      fields,
      request: {
        method: 'PATCH',
        path: `${WEBHOOKS}/${found.id}`,
        body: {
          ...changedFields(found, after, fields),
          ...(isRemoved ? { secret: null } : {}),
          ...(exposesSecret(found, after) ? { allow_secret_over_http: wanted.allow_secret_over_http } : {}),
        },
      },
      ...(isSent ? { secret: { source, inHeader: after.include_secret_header } } : {}),
    },
  ];
}

function secretChange({ has_secret: hasSecret }: Webhook, after: string): FieldChange {
  return { field: 'secret', before: hasSecret ? 'set' : 'none', after };
}

/** Returns only what changes, so that a webhook that failures disabled is not enabled by another change. */
function changedFields(found: Webhook, after: WebhookFields, changes: readonly FieldChange[]) {
  const { has_secret: _secret, events, ...others } = after;
  const names = Object.keys(others) as (keyof typeof others)[];
  return {
    ...Object.fromEntries(
      names.filter((name) => found[name] !== others[name]).map((name) => [name, others[name]]),
    ),
    ...(changes.some(({ field }) => field.startsWith('events ')) ? { events } : {}),
  };
}

function deletion({ id, name }: Webhook): Change {
  return {
    action: 'delete',
    kind: 'webhook',
    name,
    fields: [{ field: 'id', before: id, after: null }],
    request: { method: 'DELETE', path: `${WEBHOOKS}/${id}` },
  };
}
