/** Every kind of workspace event (docs/events.md). */
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

/** Main objects of events. */
export const MAIN_OBJECTS = ['issue', 'comment', 'sprint', 'project', 'user', 'deployment'] as const;
export type MainObject = (typeof MAIN_OBJECTS)[number];

/** When each kind happens, and which field of its `data` is the main object. */
export const ABOUT_EVENTS: Readonly<Record<EventKind, { description: string; object: MainObject }>> = {
  'issue.created': { description: 'A new issue is created', object: 'issue' },
  'issue.updated': { description: 'An issue is modified', object: 'issue' },
  'issue.deleted': { description: 'An issue is deleted', object: 'issue' },
  'issue.moved': { description: 'An issue moves to another project', object: 'issue' },
  'comment.created': { description: 'A new comment', object: 'comment' },
  'sprint.started': { description: 'A sprint begins', object: 'sprint' },
  'sprint.completed': { description: 'A sprint ends', object: 'sprint' },
  'project.created': { description: 'A new project', object: 'project' },
  'user.joined': { description: 'A user joins the team', object: 'user' },
  'deployment.completed': { description: 'A deployment finishes', object: 'deployment' },
};

/** Returns whether a value is the name of a kind. */
export function isEventKind(name: unknown): name is EventKind {
  return (EVENT_KINDS as readonly unknown[]).includes(name);
}
