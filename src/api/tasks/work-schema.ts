import { z } from 'zod';
import { DEFAULT_PAGE, MAX_ARTIFACT_NAME_LENGTH, MAX_PAGE } from '../../domain/common/limits.ts';
import { usage } from '../../domain/tasks/run-schemas.ts';
import { integerParameter, memberProblem, pageOf, shownAs, text, timestamp, uuid } from '../http/fields.ts';
import { readCursor } from './calls.ts';

/** What the agents of a run have left behind as documents, in the order they were kept. */
export const artifactList = z
  .strictObject({
    data: z.array(
      z
        .strictObject({
          name: z.string(),
          media_type: z.string(),
          size: z.int().describe('In bytes'),
          sha256: z.string().describe('Of the content, hex'),
          step: z.string().nullable(),
          agent: z.string(),
          created_at: timestamp,
          url: z.string().describe('Where to download it, with the same credential'),
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
    step: z.string().nullable().describe('null for calls that were made for the plan'),
    agent: z.string().nullable(),
    attempt: z.int(),
    number: z.int().describe('Which call of the attempt'),
    kind: z.enum(['model', 'tool']),
    name: z.string().describe('`provider/model`, or the name of the tool'),
    input: z.unknown(),
    output: z.unknown(),
    truncated: z.boolean().describe('Whether the input or the output was cut'),
    usage: usage.nullable(),
    failure: z.string().nullable(),
    started_at: timestamp,
    duration_ms: z.int(),
  })
  .meta({ id: 'AgentCall' });
export const callPage = pageOf(call).meta({ id: 'AgentCallPage' });
export const callParameters = z.strictObject({
  limit: integerParameter(1, MAX_PAGE).optional().describe(`Rows of a page, ${DEFAULT_PAGE} by default`),
  cursor: z
    .string()
    .max(200)
    .transform((given, context) => {
      const cursor = readCursor(given);
      if (cursor === null) context.addIssue(memberProblem('invalid_format', 'is not a cursor of this list'));
      return cursor;
    })
    .optional()
    .meta(shownAs({ type: 'string' }))
    .describe('`next_cursor` of the page before'),
  kind: z.enum(['model', 'tool']).optional(),
});
