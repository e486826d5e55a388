import { z } from 'zod';
import type { EventKind } from './event-kinds.ts';
import { MAX_OBJECT_ID_LENGTH } from '../common/limits.ts';

/*
 * Schemas of `data`, by kind (docs/events.md). The main object with its id is required. Other known fields are
 * validated if present. Unknown fields pass through.
 */

const id = z.string().min(1).max(MAX_OBJECT_ID_LENGTH);
const word = z.string();
const time = z.iso.datetime({ offset: true });
const date = z.iso.date();

const person = z.looseObject({ id: id.optional(), name: word.nullish(), email: word.nullish() });
const actor = z.looseObject({ id: id.nullish(), name: word.nullish() }).nullish();
const projectFields = { key: word.optional(), name: word.optional() };
const projectOfOther = z.looseObject({ id: id.optional(), ...projectFields }).nullish();

const issueFields = {
  key: word.optional(),
  title: word.optional(),
  type: word.nullish(),
  status: word.nullish(),
  priority: word.nullish(),
  assignee: person.nullish(),
  project: projectOfOther,
};
const issue = z.looseObject({ id, ...issueFields });
const issueOfOther = z.looseObject({ id: id.optional(), ...issueFields }).nullish();
const changes = z
  .array(
    z.looseObject({
      field: z.string().min(1),
      old_value: z.unknown().optional(),
      new_value: z.unknown().optional(),
    }),
  )
  .nullish();

const comment = z.looseObject({
  id,
  body: word.nullish(),
  author: person.nullish(),
  created_at: time.nullish(),
});
const sprint = z.looseObject({
  id,
  name: word.optional(),
  goal: word.nullish(),
  start_date: date.nullish(),
  end_date: date.nullish(),
  issues_count: z.int().nullish(),
  points: z.int().nullish(),
  completed_points: z.int().nullish(),
  completed_issues_count: z.int().nullish(),
});
const project = z.looseObject({
  id,
  ...projectFields,
  description: word.nullish(),
  lead: person.nullish(),
});
const user = z.looseObject({ id, name: word.optional(), email: word.nullish(), role: word.nullish() });
const deployment = z.looseObject({
  id,
  environment: word.nullish(),
  version: word.nullish(),
  status: word.nullish(),
  url: word.nullish(),
  started_at: time.nullish(),
  completed_at: time.nullish(),
});

/** The schema of `data` for each kind. */
export const EVENT_SCHEMAS = {
  'issue.created': z.looseObject({ issue, actor }),
  'issue.updated': z.looseObject({ issue, changes, actor }),
  'issue.deleted': z.looseObject({ issue, actor }),
  'issue.moved': z.looseObject({ issue, changes, actor }),
  'comment.created': z.looseObject({ comment, issue: issueOfOther, actor }),
  'sprint.started': z.looseObject({ sprint, project: projectOfOther, actor }),
  'sprint.completed': z.looseObject({ sprint, project: projectOfOther, actor }),
  'project.created': z.looseObject({ project, actor }),
  'user.joined': z.looseObject({ user, actor }),
  'deployment.completed': z.looseObject({ deployment, project: projectOfOther, actor }),
} as const satisfies Record<EventKind, z.ZodType>;

/** Returns the JSON Schema of the whole payload of a kind (docs/receiving.md), as receivers get it. */
export function payloadSchema(kind: EventKind): Record<string, unknown> {
  const payload = z.looseObject({
    id: z.string(),
    event: z.literal(kind),
    timestamp: z.iso.datetime(),
    workspace: z.looseObject({ id: z.string(), name: z.string() }),
    data: EVENT_SCHEMAS[kind],
  });
  return z.toJSONSchema(payload);
}
