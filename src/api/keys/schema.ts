import { z } from 'zod';
import { MAX_KEY_OVERLAP_HOURS } from '../../domain/common/limits.ts';
import { SCOPES } from '../../domain/people/access.ts';
import { overlapHours, pageOf, pageParameters, timestamp, uuid, uuidOut } from '../http/fields.ts';

const DEFAULT_OVERLAP_HOURS = 24;
export const keyView = z
  .strictObject({
    id: uuidOut,
    name: z.string(),
    prefix: z.string().describe('First characters of the key'),
    project_id: uuidOut,
    scopes: z.array(z.enum(SCOPES)),
    created_by: z.string(),
    creator: z
      .strictObject({
        id: uuidOut,
        name: z.string(),
        email: z.string(),
        removed: z.boolean().describe('Whether the person is no longer a member. The key stays valid'),
      })
      .nullable()
      .describe('Person who created the key; null if the installation created it'),
    created_at: timestamp,
    expires_at: timestamp.nullable(),
    last_used_at: timestamp.nullable().describe('Accurate to the minute'),
    revoked_at: timestamp.nullable(),
    replaced_by: uuidOut.nullable(),
  })
  .meta({ id: 'Key' });
export const keyPage = pageOf(keyView).meta({ id: 'KeyPage' });

/** The only responses that contain a key. */
export const newKey = keyView
  .extend({ key: z.string().describe('The key, shown once') })
  .meta({ id: 'NewKey' });

export const rotation = z
  .strictObject({
    overlap_hours: overlapHours(MAX_KEY_OVERLAP_HOURS)
      .default(DEFAULT_OVERLAP_HOURS)
      .describe('Hours until the old key becomes invalid'),
  })
  .meta({ id: 'KeyRotation' });
export { DEFAULT_OVERLAP_HOURS };

export const keyParams = z.strictObject({ id: uuid });
export const keyListParameters = z.strictObject({
  ...pageParameters,
  project_id: uuid.optional(),
  created_by: uuid.optional().describe('Only keys that this person created, even if the person was removed'),
  active: z.literal('true').optional().describe('Only keys that are neither revoked nor expired'),
});
