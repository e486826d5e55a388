/** Every kind of workspace event (specification 6.1). */
export const EVENT_KINDS = [
  'issue.created',
  'issue.updated',
  'issue.deleted',
  'issue.moved',
  'comment.created',
  'sprint.started',
  'sprint.completed',
  'project.created',
  'user.joined',
  'deployment.completed',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];
