import { z } from 'zod';
import { fieldProblem } from '../../src/domain/common/schema-parts.ts';
import { invitationPlan } from '../../src/domain/people/invitation.ts';
import { keyPlan } from '../../src/domain/people/key-plan.ts';
import { projectPlan } from '../../src/domain/people/project-plan.ts';
import { webhookPlan } from '../../src/domain/webhooks/webhook-plan.ts';

/** A key: the fields of `POST /api/v1/keys`, with the key or the name of its project instead of an id. */
const key = keyPlan.omit({ project_id: true }).extend({
  project: z.string().min(1).describe('Key or name of its project, in the file or the workspace'),
});

/** A webhook: the fields of `POST /api/v1/webhooks`, with the place of the secret instead of the secret. */
const webhook = webhookPlan
  .omit({ secret: true, method: true, content_type: true })
  .extend({
    has_secret: z.boolean().optional().describe('`false`: deliveries are not signed; default: true'),
    secret_env: z
      .string()
      .min(1)
      .optional()
      .describe('Environment variable with the secret; default: the secret is generated and shown once'),
    secret_file: z.string().min(1).optional().describe('File with the secret, relative to this file'),
  })
  .superRefine((given, context) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ ...fieldProblem('not_allowed', message), path: [field] });
    if (given.secret_env !== undefined && given.secret_file !== undefined)
      refuse('secret_file', 'must not be set if `secret_env` is set');
    if (given.has_secret !== false) return;
    for (const field of ['secret_env', 'secret_file'] as const)
      if (given[field] !== undefined) refuse(field, 'must not be set if `has_secret` is false');
    for (const field of ['include_secret_header', 'standard_webhooks'] as const)
      if (given[field] === true) refuse(field, 'requires a secret, but `has_secret` is false');
  });

/** The content of a workspace file (docs/how-to/configuration-as-code.md). `baton apply` ignores omitted lists. */
export const workspaceFile = z.strictObject({
  projects: z.array(projectPlan).optional(),
  members: z.array(invitationPlan).optional().describe('Members by e-mail address; others are invited'),
  keys: z.array(key).optional(),
  webhooks: z.array(webhook).optional(),
});

/** A validated file. */
export type WorkspaceFile = z.output<typeof workspaceFile>;
/** The content as it is written. */
export type WrittenFile = z.input<typeof workspaceFile>;
export type WantedProject = NonNullable<WorkspaceFile['projects']>[number];
export type WantedMember = NonNullable<WorkspaceFile['members']>[number];
export type WantedKey = NonNullable<WorkspaceFile['keys']>[number];
export type WantedWebhook = NonNullable<WorkspaceFile['webhooks']>[number];
