import { z } from 'zod';
import { callbackUrl } from '../common/callback-url.ts';
import {
  MAX_DESCRIPTION_LENGTH,
  MAX_METADATA_BYTES,
  MAX_TITLE_LENGTH,
  MAX_URL_LENGTH,
} from '../common/limits.ts';
import { text, uuid } from '../common/schema-parts.ts';
import { metadata } from './task-metadata.ts';
import { DEFAULT_TASK_TYPE, TASK_TYPES } from './task-run.ts';

/** A task submission (docs/http-api.md). */
export const submission = z
  .strictObject({
    title: text({ least: 1, most: MAX_TITLE_LENGTH }).describe('Short human-readable name'),
    description: text({ most: MAX_DESCRIPTION_LENGTH }).optional().describe('Full prompt for the agent'),
    project_id: uuid.describe('A project that the credential can access'),
    task_type: z.enum(TASK_TYPES).default(DEFAULT_TASK_TYPE).describe('Selects the team of agents'),
    callback_url: callbackUrl
      .optional()
      .describe(`Starts with https://. Without it, poll. At most ${MAX_URL_LENGTH} characters`),
    metadata: metadata
      .optional()
      .describe(
        `Passed through; at most ${MAX_METADATA_BYTES} bytes of JSON. Use \`rehearsal\` to script a simulated run`,
      ),
  })
  .meta({ id: 'TaskSubmission' });
export type Submission = z.output<typeof submission>;
