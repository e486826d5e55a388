import { z } from 'zod';
import { DEFAULT_PAGE, MAX_ARTIFACT_NAME_LENGTH, MAX_PAGE } from '../../domain/common/limits.ts';
import { usage } from '../../domain/tasks/run-schemas.ts';
import { integerParameter, fieldProblem, pageOf, shownAs, text, timestamp, uuid } from '../http/fields.ts';
import { readCursor } from './calls.ts';

/** The documents of a run's agents, in the order in which they were stored. */
export const artifactList = z
  .strictObject({
    data: z.array(
      z
        .strictObject({
          name: z.string(),
          media_type: z.string(),
          size: z.int().describe('Size in bytes'),
          sha256: z.string().describe('SHA-256 of the content, hex'),
          step: z.string().nullable(),
          agent: z.string(),
          created_at: timestamp,
          url: z.string().describe('Download URL, requires the same credential'),
        })
        .meta({ id: 'Artifact' }),
    ),
  })
  .meta({ id: 'Artifacts' });

export const artifactParams = z.strictObject({
  execution_id: uuid,
  name: text({ least: 1, most: MAX_ARTIFACT_NAME_LENGTH }),
});

const call = z
  .strictObject({
    step: z.string().nullable().describe('Null for calls of the planner'),
    agent: z.string().nullable(),
    attempt: z.int(),
    number: z.int().describe('Number of the call within the attempt'),
    kind: z.enum(['model', 'tool']),
    name: z.string().describe('`provider/model`, or name of the tool'),
    input: z.unknown(),
    output: z.unknown(),
    truncated: z.boolean().describe('Whether the input or output was truncated'),
    usage: usage.nullable(),
    failure: z.string().nullable(),
    started_at: timestamp,
    duration_ms: z.int(),
  })
  .meta({ id: 'AgentCall' });
export const callPage = pageOf(call).meta({ id: 'AgentCallPage' });
export const callParameters = z.strictObject({
  limit: integerParameter(1, MAX_PAGE).optional().describe(`Rows per page; default: ${DEFAULT_PAGE}`),
  cursor: z
    .string()
    .max(200)
    .transform((given, context) => {
      const cursor = readCursor(given);
      if (cursor === null) context.addIssue(fieldProblem('invalid_format', 'is not a cursor of this list'));
      return cursor;
    })
    .optional()
    .meta(shownAs({ type: 'string' }))
    .describe('`next_cursor` of the previous page'),
  kind: z.enum(['model', 'tool']).optional(),
});
