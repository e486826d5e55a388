import { exposesSecret, isHeaderSafe, sendsSecretToNewUrl } from '../../domain/webhooks/webhook.ts';
import type { WebhookChange, WebhookRow } from '../../database/webhooks/webhooks.ts';
import { isSameSecret } from '../../security/same-secret.ts';
import { SealError, webhookSecretContext } from '../../security/sealing.ts';
import type { ProblemEntry } from '../../domain/common/validation.ts';
import type { Dependencies } from '../dependencies.ts';
import { Problem } from '../http/problem.ts';
import { hostProblems } from '../http/url-host.ts';
import type { WebhookEdit } from '../../domain/webhooks/webhook-plan.ts';

const SECRET_OPTIONS = ['include_secret_header', 'standard_webhooks'] as const;
type SecretOption = (typeof SECRET_OPTIONS)[number];
/** The fields of a webhook that decide how it signs. */
type Signing = Pick<WebhookRow, 'id' | 'url' | 'secret' | SecretOption | 'listening_until'>;

/**
 * Validates an edit and returns the change to store. `row` is the current webhook; a new webhook is an edit of an
 * empty one. `secret` is sealed in the result, and missing if it is the current one.
 * @throws Problem `validation_failed` if the fields contradict each other, or the address is not allowed
 */
export function resolveChange(
  deps: Pick<Dependencies, 'guard' | 'sealing'>,
  row: Signing,
  edit: WebhookEdit,
): WebhookChange {
  const wrongSecret = secretProblems(row, edit);
  const errors = [
    ...(isListener(row) ? listenerProblems(edit) : urlProblems(deps, edit)),
    ...(wrongSecret.length > 0 ? wrongSecret : newUrlProblems(row, edit)),
  ];
  if (errors.length > 0) {
    throw new Problem('validation_failed', errors.map(({ message }) => message).join(' '), { errors });
  }
  const { method: _method, content_type: _type, allow_secret_over_http: _consent, ...fields } = edit;
  const { secret: given, description, ...others } = fields;
  const change = { ...others, ...(description === undefined ? {} : { description: description || null }) };
  if (given === undefined || (given !== null && isCurrent(deps, row, given))) return change;
  return {
    ...change,
    secret: given === null ? null : deps.sealing.seal(given, webhookSecretContext(row.id)),
  };
}

/**
 * Returns whether a webhook has this secret. It is not a change then: as one, it would end the overlap of a rotation. One that
 * cannot be opened is another one.
 */
function isCurrent(
  { sealing }: Pick<Dependencies, 'sealing'>,
  { id, secret }: Signing,
  given: string,
): boolean {
  if (!secret) return false;
  try {
    return isSameSecret(sealing.open(secret, webhookSecretContext(id)), given);
  } catch (error) {
    if (error instanceof SealError) return false;
    throw error;
  }
}

/** @throws Problem `validation_failed` if the secret cannot be sent in a header */
export function checkHeaderSecret(row: Pick<WebhookRow, 'include_secret_header'>, secret: string): void {
  if (!row.include_secret_header || isHeaderSafe(secret)) return;
  const errors = [problem('secret', 'invalid_format', UNSAFE)];
  throw new Problem('validation_failed', errors.map(({ message }) => message).join(' '), { errors });
}

const UNSAFE = 'must consist of visible ASCII characters to be sent in a header';

function urlProblems({ guard }: Pick<Dependencies, 'guard'>, { url }: WebhookEdit): ProblemEntry[] {
  return url === undefined ? [] : hostProblems(guard, 'url', url);
}

function isListener({ listening_until: until }: Signing): boolean {
  return (until ?? null) !== null;
}

/** Relayed requests are stored in the database for a short time, where no secret may be. The address is only shown. */
function listenerProblems({ include_secret_header: isRequested }: WebhookEdit): ProblemEntry[] {
  if (isRequested !== true) return [];
  return [problem('include_secret_header', 'not_allowed', 'is not supported for a webhook of a listener')];
}

/** Reports an option that requires a secret if the edit sets it, otherwise the removal of the secret. */
function secretProblems(row: Signing, edit: WebhookEdit): ProblemEntry[] {
  const hasSecret = edit.secret === undefined ? (row.secret ?? null) !== null : edit.secret !== null;
  const isOn = (option: SecretOption) => edit[option] ?? row[option];
  if (!hasSecret) {
    return SECRET_OPTIONS.filter(isOn).map((option) =>
      edit[option] === true
        ? problem(option, 'not_allowed', 'requires a secret')
        : problem('secret', 'not_allowed', `is required by \`${option}\`; disable that option too`),
    );
  }
  if (typeof edit.secret !== 'string' || !isOn('include_secret_header') || isHeaderSafe(edit.secret))
    return [];
  return [problem('secret', 'invalid_format', UNSAFE)];
}

/** Reports what a secret needs to be sent to a URL that did not get it before. */
function newUrlProblems(row: Signing, edit: WebhookEdit): ProblemEntry[] {
  const { url = row.url, include_secret_header = row.include_secret_header, secret } = edit;
  const after = { url, include_secret_header };
  return [
    ...(sendsSecretToNewUrl(row, after) && secret === undefined
      ? [
          problem(
            'secret',
            'required',
            'is required to send it to a new URL; repeat the current secret or set a new one',
          ),
        ]
      : []),
    ...(exposesSecret(row, after) && edit.allow_secret_over_http !== true
      ? [
          problem(
            'allow_secret_over_http',
            'required',
            'must be true to send the secret over plain http, where anyone between Baton and the receiver can read it',
          ),
        ]
      : []),
  ];
}

function problem(field: string, code: ProblemEntry['code'], words: string): ProblemEntry {
  return { pointer: `/${field}`, code, message: `\`${field}\` ${words}.` };
}
