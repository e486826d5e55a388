import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { z } from 'zod';
import {
  MAX_A2A_CONTEXT_ID_LENGTH,
  MAX_A2A_DEPTH,
  MAX_A2A_MESSAGE_ID_LENGTH,
  MAX_A2A_PAGE,
  MAX_A2A_PARTS,
  MAX_A2A_PUSH_CREDENTIALS_LENGTH,
  MAX_A2A_PUSH_ID_LENGTH,
  MAX_A2A_PUSH_TOKEN_LENGTH,
  MAX_URL_LENGTH,
} from '../../domain/common/limits.ts';
import { isDeeperThan } from '../../domain/common/canonical-json.ts';
import { isStorableText } from '../../domain/common/text.ts';
import { problemsIn } from '../../domain/common/validation.ts';
import { PAGE_TOKEN } from './page-token.ts';

/*
 * The parameters of each method as ProtoJSON. The SDK's own parsers accept anything: they turn an object into the text
 * "[object Object]" and an unknown state into -1. Unknown fields are ignored, as ProtoJSON requires.
 */

const id = z.string().min(1).max(100);
const fields = z.record(z.string(), z.unknown()).nullish();
const tenant = z
  .string()
  .refine((given) => given === '', { error: 'must be empty: this agent has no tenants' })
  .optional();
const contextId = z
  .string()
  .max(MAX_A2A_CONTEXT_ID_LENGTH)
  .refine(isStorableText, { error: 'must not contain a NUL character or half of a surrogate pair' })
  .optional();
const historyLength = z.int().min(0).nullish();

const part = z
  .looseObject({
    text: z.string().optional(),
    raw: z.string().optional(),
    url: z.string().optional(),
    data: z.unknown().optional(),
    mediaType: z.string().optional(),
    filename: z.string().optional(),
    metadata: fields,
  })
  .refine((given) => CONTENTS.filter((name) => given[name] !== undefined).length === 1, {
    error: `must have exactly one of text, raw, url and data`,
  });
const CONTENTS = ['text', 'raw', 'url', 'data'] as const;

const message = z.looseObject({
  messageId: z.string().min(1).max(MAX_A2A_MESSAGE_ID_LENGTH),
  contextId,
  taskId: z.string().max(100).optional(),
  role: z.enum(['ROLE_USER']),
  parts: z.array(part).min(1).max(MAX_A2A_PARTS),
  metadata: fields,
});

/** A value of a header. */
const headerValue = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[\x20-\x7e]*$/, { error: 'must be visible ASCII characters' });
const pushId = z
  .string()
  .max(MAX_A2A_PUSH_ID_LENGTH)
  .regex(/^[\w.-]*$/, { error: 'must be letters, digits, "_", "." and "-"' });
const push = z.looseObject({
  tenant,
  id: pushId.optional(),
  url: z.string().min(1).max(MAX_URL_LENGTH),
  token: headerValue(MAX_A2A_PUSH_TOKEN_LENGTH).optional(),
  authentication: z
    .looseObject({
      scheme: z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,100}$/, { error: 'must be a token of HTTP' }),
      credentials: headerValue(MAX_A2A_PUSH_CREDENTIALS_LENGTH).optional(),
    })
    .nullish(),
});

const sendMessage = z.looseObject({
  tenant,
  message,
  metadata: fields,
  configuration: z
    .looseObject({
      acceptedOutputModes: z.array(z.string()).nullish(),
      historyLength,
      returnImmediately: z.boolean().nullish(),
      taskPushNotificationConfig: push.extend({ taskId: z.literal('').optional() }).nullish(),
    })
    .nullish(),
});

const oneTask = z.looseObject({ tenant, id });
const onePush = z.looseObject({ tenant, taskId: id, id: pushId.min(1) });
const STATES = [
  'TASK_STATE_UNSPECIFIED',
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
] as const;

const SCHEMAS = {
  SendMessage: sendMessage,
  SendStreamingMessage: sendMessage,
  GetTask: oneTask.extend({ historyLength }),
  ListTasks: z.looseObject({
    tenant,
    contextId,
    status: z.enum(STATES).optional(),
    pageSize: z.int().min(1).max(MAX_A2A_PAGE).optional(),
    pageToken: z
      .union([z.literal(''), z.string().regex(PAGE_TOKEN)], {
        error: 'must be the `nextPageToken` of a page',
      })
      .optional(),
    historyLength,
    statusTimestampAfter: z.iso.datetime({ offset: true }).optional(),
    includeArtifacts: z.boolean().nullish(),
  }),
  CancelTask: oneTask.extend({ metadata: fields }),
  SubscribeToTask: oneTask,
  CreateTaskPushNotificationConfig: push.extend({ taskId: id }),
  GetTaskPushNotificationConfig: onePush,
  ListTaskPushNotificationConfigs: z.looseObject({ tenant, taskId: id }),
  DeleteTaskPushNotificationConfig: onePush,
  GetExtendedAgentCard: z.looseObject({ tenant }).optional(),
} as const;

/**
 * Returns the parameters of a method with their names in camelCase: ProtoJSON also accepts the names of the definition,
 * like `task_id`. @throws RequestMalformedError with all faults
 */
export function checkedParams(method: string, given: unknown): unknown {
  if (isDeeperThan(given, MAX_A2A_DEPTH))
    throw new RequestMalformedError(`The request must be at most ${MAX_A2A_DEPTH} levels deep.`);
  const params = inCamelCase(given);
  const schema = Object.hasOwn(SCHEMAS, method) ? SCHEMAS[method as keyof typeof SCHEMAS] : undefined;
  const result = schema?.safeParse(params);
  if (!result?.error) return params;
  const faults = problemsIn(result.error, params, 'body').map(({ message: text }) => text);
  throw new RequestMalformedError(faults.join(' ').replaceAll('The body', 'The request'));
}

/** Values whose fields are the client's. */
const OF_CLIENT = new Set(['metadata', 'data']);

function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => [
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    OF_CLIENT.has(name) ? inner : inCamelCase(inner),
  ]);
  return { ...Object.fromEntries(entries), ...ownFields(entries, value) };
}

/** Returns the fields that were in camelCase already, which take precedence. */
function ownFields(entries: readonly [string, unknown][], given: object): Record<string, unknown> {
  return Object.fromEntries(entries.filter(([name]) => Object.hasOwn(given, name)));
}
