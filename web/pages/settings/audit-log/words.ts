import { formatLocal } from '../../../format/time.ts';
import type { AuditAction } from '../../../../src/domain/people/audit-actions.ts';

type AuditEntry = {
  action: AuditAction;
  actor: string;
  subject: string;
  subject_label: string;
  detail: Record<string, unknown>;
};

/** The actions as text. */
const ACTION_LABELS: Readonly<Record<AuditEntry['action'], string>> = {
  'installation.created': 'created this installation',
  'project.created': 'created a project',
  'member.added': 'added a member',
  'member.role_changed': 'changed a role',
  'member.removed': 'removed a member',
  'key.created': 'created an API key',
  'key.rotated': 'rotated an API key',
  'key.revoked': 'revoked an API key',
  'session.started': 'signed in',
  'session.refused': 'entered a wrong password',
  'session.ended': 'ended a session',
  'session.others_ended': 'ended all other sessions',
  'person.password_changed': 'changed the password',
  'person.password_reset': 'reset a password',
  'person.openid_linked': 'linked an identity provider account',
  'invitation.created': 'invited a member',
  'invitation.revoked': 'revoked an invitation',
  'invitation.accepted': 'accepted an invitation',
  'webhook.created': 'created a webhook',
  'webhook.changed': 'changed a webhook',
  'webhook.deleted': 'deleted a webhook',
  'webhook.secret_rotated': 'rotated a webhook secret',
  'webhook.disabled': 'disabled a webhook after failures',
  'webhook.enabled': 're-enabled a webhook',
  'webhook.recovered': 'recovered deliveries',
  'webhook.test_previewed': 'previewed a test event',
  'webhook.test_sent': 'sent a test event',
  'delivery.retried': 'retried a delivery',
  'task.callback_retried': 'retried a callback',
  'delivery.retry_cancelled': 'cancelled a scheduled retry',
  'task.erased': 'erased a task',
  'token.created': 'created a token',
};

/** Returns what an actor did. A person who joins with an invitation adds a member: themselves. */
export function actionText({
  action,
  actor,
  subject,
}: Pick<AuditEntry, 'action' | 'actor' | 'subject'>): string {
  return action === 'member.added' && actor === subject ? 'joined the workspace' : ACTION_LABELS[action];
}

/** Returns `user:ada@example.com` as "ada@example.com". Other kinds keep their prefix. */
export function actorName(label: string): string {
  if (label === 'system') return 'system';
  const [kind = '', ...rest] = label.split(':');
  const name = rest.join(':');
  return kind === 'user' ? name : kind === 'key' ? `key ${name}…` : label;
}

/** Returns the name that the target had then. */
export function subjectName({
  subject_label: label,
  detail,
}: Pick<AuditEntry, 'subject_label' | 'detail'>): string {
  const known = [detail['name'], detail['email'], detail['prefix']].find((name) => typeof name === 'string');
  return known ?? actorName(label);
}

/** Returns the other details: `role: admin, by: openid`. Omits what the name already shows. Projects have their names. */
export function detailsOf(
  entry: Pick<AuditEntry, 'subject_label' | 'detail'>,
  projectName: (id: string) => string,
): string {
  const name = subjectName(entry);
  return Object.entries(entry.detail)
    .filter(([, value]) => value !== name && value !== null)
    .map(([field, value]) =>
      field === 'project_id' && typeof value === 'string'
        ? `project: ${projectName(value)}`
        : `${field.replaceAll('_', ' ')}: ${formatValue(value)}`,
    )
    .join(', ');
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(formatValue).join(' ');
  if (typeof value !== 'string') return JSON.stringify(value);
  return ISO_TIME.test(value) ? formatLocal(value) : value;
}
