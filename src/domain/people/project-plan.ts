import { z } from 'zod';
import { MAX_PROJECT_NAME_LENGTH } from '../common/limits.ts';
import { fieldProblem, text } from '../common/schema-parts.ts';

const KEY_FORM = /^[A-Z][A-Z0-9]{0,9}$/;

/** A new project. */
export const projectPlan = z
  .strictObject({
    name: text({ least: 1, most: MAX_PROJECT_NAME_LENGTH }),
    key: z
      .string()
      .superRefine((value, context) => {
        if (KEY_FORM.test(value)) return;
        context.addIssue(
          fieldProblem(
            'invalid_format',
            'must be 1–10 upper-case letters and digits and start with a letter',
          ),
        );
      })
      .meta({ pattern: KEY_FORM.source })
      .optional()
      .describe('Short key, unique in the workspace; default: derived from the name'),
  })
  .meta({ id: 'ProjectPlan' });
