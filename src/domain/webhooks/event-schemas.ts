import { z } from 'zod';
import type { EventKind } from './event-kinds.ts';
import { MAX_OBJECT_ID_LENGTH } from '../common/limits.ts';

/*
 * Schemas of `data`, by kind (docs/events.md). The main object with its id is required. Other known fields are
 * validated if present. Unknown fields are allowed. They are missing from the result of a check, which would otherwise be a
 * copy of all of them.
 */

const id = z.string().min(1).max(MAX_OBJECT_ID_LENGTH);
const word = z.string();
const time = z.iso.datetime({ offset: true });
const date = z.iso.date();

const person = z.object({ id: id.optional(), name: word.nullish(), email: word.nullish() });
const actor = z.object({ id: id.nullish(), name: word.nullish() }).nullish();
const projectFields = { key: word.optional(), name: word.optional() };
const projectOfOther = z.object({ id: id.optional(), ...projectFields }).nullish();

const issueFields = {
  key: word.optional(),
  title: word.optional(),
  type: word.nullish(),
  status: word.nullish(),
  priority: word.nullish(),
  assignee: person.nullish(),
  project: projectOfOther,
};
const issue = z.object({ id, ...issueFields });
const issueOfOther = z.object({ id: id.optional(), ...issueFields }).nullish();
const changes = z
  .array(
    z.object({
      field: z.string().min(1),
      old_value: z.unknown().optional(),
      new_value: z.unknown().optional(),
    }),
  )
  .nullish();

const comment = z.object({
  id,
  body: word.nullish(),
  author: person.nullish(),
  created_at: time.nullish(),
});
const sprint = z.object({
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
const project = z.object({
  id,
  ...projectFields,
  description: word.nullish(),
  lead: person.nullish(),
});
const user = z.object({ id, name: word.optional(), email: word.nullish(), role: word.nullish() });
const deployment = z.object({
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
  'issue.created': z.object({ issue, actor }),
  'issue.updated': z.object({ issue, changes, actor }),
  'issue.deleted': z.object({ issue, actor }),
  'issue.moved': z.object({ issue, changes, actor }),
  'comment.created': z.object({ comment, issue: issueOfOther, actor }),
  'sprint.started': z.object({ sprint, project: projectOfOther, actor }),
  'sprint.completed': z.object({ sprint, project: projectOfOther, actor }),
  'project.created': z.object({ project, actor }),
  'user.joined': z.object({ user, actor }),
  'deployment.completed': z.object({ deployment, project: projectOfOther, actor }),
} as const satisfies Record<EventKind, z.ZodType>;

/** Returns the JSON Schema of the `data` of a kind. */
export function dataSchema(kind: EventKind): Record<string, unknown> {
  return jsonSchemaOf(EVENT_SCHEMAS[kind]);
}

/** Returns the JSON Schema of the whole payload of a kind (docs/receiving.md), as receivers get it. */
export function payloadSchema(kind: EventKind): Record<string, unknown> {
  return jsonSchemaOf(
    z.object({
      id: z.string(),
      event: z.literal(kind),
      timestamp: z.iso.datetime(),
      workspace: z.object({ id: z.string(), name: z.string() }),
      data: EVENT_SCHEMAS[kind],
    }),
  );
}

function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(schema, {
    override({ jsonSchema }) {
      if (jsonSchema.type === 'object') jsonSchema.additionalProperties = {};
    },
  });
}
