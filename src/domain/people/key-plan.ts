import { z } from 'zod';
import { SCOPES, WORKSPACE_SCOPES, type Scope } from './access.ts';
import { MAX_KEY_NAME_LENGTH } from '../common/limits.ts';
import { givenTime, text, uuid } from '../common/schema-parts.ts';

/** Scopes of a key that is created without scopes. */
export const DEFAULT_SCOPES: readonly Scope[] = ['tasks:read', 'tasks:write'];

const scopes = z
  .array(z.enum(SCOPES))
  .min(1)
  .transform((given) => SCOPES.filter((scope) => given.includes(scope)))
  .describe(`${WORKSPACE_SCOPES.join(', ')} apply to the whole workspace`);

/** A new key. */
export const keyPlan = z
  .strictObject({
    name: text({ least: 1, most: MAX_KEY_NAME_LENGTH }),
    project_id: uuid,
    scopes: scopes.optional().describe(`Default: ${DEFAULT_SCOPES.join(', ')}`),
    expires_at: givenTime.optional(),
  })
  .meta({ id: 'KeyPlan' });
