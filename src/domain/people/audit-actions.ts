/** All actions of the audit log, as `<area>.<action>`. */
export const AUDIT_ACTIONS = [
  'installation.created',
  'project.created',
  'member.added',
  'member.role_changed',
  'member.removed',
  'key.created',
  'key.rotated',
  'key.revoked',
  'session.started',
  'session.refused',
  'session.ended',
  'session.others_ended',
  'person.password_changed',
  'person.password_reset',
  'person.openid_linked',
  'invitation.created',
  'invitation.revoked',
  'invitation.accepted',
  'webhook.created',
  'webhook.changed',
  'webhook.deleted',
  'webhook.secret_rotated',
  'webhook.disabled',
  'webhook.enabled',
  'webhook.recovered',
  'webhook.test_previewed',
  'webhook.test_sent',
  'delivery.retried',
  'task.callback_retried',
  'delivery.retry_cancelled',
  'task.erased',
  'token.created',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Areas of the audit log: the kind of the affected object. */
export const AUDIT_AREAS = [
  'member',
  'invitation',
  'session',
  'person',
  'key',
  'project',
  'webhook',
  'delivery',
  'task',
  'token',
  'installation',
] as const;
export type AuditArea = (typeof AUDIT_AREAS)[number];

/** Returns the actions of these areas; all actions if no area is given. */
export function actionsOf(areas: readonly AuditArea[]): AuditAction[] {
  return AUDIT_ACTIONS.filter(
    (action) => areas.length === 0 || areas.some((area) => action.startsWith(`${area}.`)),
  );
}
