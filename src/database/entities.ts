import {
  Workspace,
  Project,
  User,
  Member,
  Session,
  Invitation,
  Identity,
  ApiKey,
  AuditEntry,
  Notification,
} from './people/entities.ts';
import { TaskRun, TaskEvent, CallbackAttempt, IdempotencyKey } from './tasks/entities.ts';
import { Webhook, WorkspaceEvent, Delivery, DeliveryAttempt } from './webhooks/entities.ts';

/** All tables that have an entity. */
export const entities = [
  Workspace,
  Project,
  User,
  Member,
  Session,
  Invitation,
  Identity,
  ApiKey,
  AuditEntry,
  Notification,
  TaskRun,
  TaskEvent,
  CallbackAttempt,
  IdempotencyKey,
  Webhook,
  WorkspaceEvent,
  Delivery,
  DeliveryAttempt,
] as const;
