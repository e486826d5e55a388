import { z } from 'zod';
import {
  MAX_ACTOR_LENGTH,
  MAX_ANSWER_LENGTH,
  MAX_LISTED_FEED_EVENTS,
  MAX_METADATA_FILTERS,
  MAX_REASON_LENGTH,
  MAX_SEARCH_LENGTH,
  MAX_STEP_NAME_LENGTH,
} from '../../domain/common/limits.ts';
import { CALLBACK_STATUSES, CALLBACK_TRIGGERS } from '../../domain/tasks/callback.ts';
import { escalation, progress, question, runError, step, usage } from '../../domain/tasks/run-schemas.ts';
import { runSearchOf } from '../../domain/tasks/run-search.ts';
import { TASK_TYPES } from '../../domain/tasks/task-run.ts';
import { RUN_ERROR_CODES, TASK_STATES } from '../../domain/tasks/task-states.ts';
import { isStorableJson } from '../../domain/common/text.ts';
import { feedEvent } from '../../domain/tasks/feed-schemas.ts';
import {
  integerParameter,
  listParameter,
  pageOf,
  pageParameters,
  text,
  givenTime,
  fieldProblem,
  timestamp,
  uuid,
  uuidOut,
} from '../http/fields.ts';

/** The response to a submission (docs/http-api.md). */
export const submitted = z
  .strictObject({
    execution_id: uuidOut,
    status_url: z.string().describe('URL to poll'),
    websocket_room: z.string().describe('Room of the run on the live channel'),
    callback_secret: z
      .string()
      .describe('64 hex characters, shown once. The HMAC key of callbacks is the UTF-8 bytes of this text'),
  })
  .meta({ id: 'TaskSubmitted' });

/** The body of a rerun. Without it, the run starts from the first step that is not completed. */
export const rerunRequest = z
  .strictObject({
    from_step: text({ least: 1, most: MAX_STEP_NAME_LENGTH })
      .optional()
      .describe(
        'Name of the first step to run again, with all steps that depend on it; default: the first step that is not completed',
      ),
    answer: text({ least: 1, most: MAX_ANSWER_LENGTH })
      .optional()
      .describe(
        'Answer to the escalation. The agent of the step that escalated gets it. Only for escalated runs',
      ),
  })
  .meta({ id: 'RerunRequest' });
const rerunFrom = z
  .string()
  .nullable()
  .describe('Step that the rerun starts from; null if the earlier run had no plan');
export const rerun = submitted
  .extend({
    rerun_of: uuidOut.describe('The earlier run'),
    rerun_from: rerunFrom,
    callback_url: z
      .string()
      .nullable()
      .describe('URL of the callback, the same as that of the earlier run; null: no callback is sent'),
  })
  .meta({ id: 'TaskRerun' });

const callbackStatus = z.enum(CALLBACK_STATUSES);
const callbackTrigger = z
  .enum(CALLBACK_TRIGGERS)
  .describe('`manual` for a retry that somebody requested, otherwise `automatic`');
const callbackAttemptBrief = z.strictObject({
  attempt: z.int(),
  trigger: callbackTrigger,
  attempted_at: timestamp,
  response_status: z.int().nullable(),
  failure: z.string().nullable(),
  message: z.string().nullable(),
  duration_ms: z.int().nullable(),
  next_attempt_at: timestamp.nullable(),
});

const head = {
  execution_id: uuidOut,
  state: z.enum(TASK_STATES),
  project_id: uuidOut,
  title: z.string(),
};
const rerunOf = uuidOut
  .nullable()
  .describe('The run that this run reruns; null if there is none or it was erased');
const createdBy = z.string().describe('Submitter: `user:<e-mail>` or `key:<prefix>`');
const openQuestion = question
  .nullable()
  .describe('Question of an agent, while the run is paused for the answer');
const timing = {
  created_at: timestamp,
  started_at: timestamp.nullable(),
  paused_at: timestamp.nullable(),
  paused_by: z.string().nullable(),
  paused_ms: z.int().describe('Milliseconds paused, without the current pause'),
  completed_at: timestamp.nullable(),
  duration_ms: z.int().nullable(),
};

/** The workflow detail (docs/http-api.md). Its fields are always in this order. */
export const detail = z
  .strictObject({
    ...head,
    description: z.string().nullable(),
    task_type: z.enum(TASK_TYPES),
    metadata: z.record(z.string(), z.unknown()),
    progress,
    steps: z.array(step),
    ...timing,
    output: z.record(z.string(), z.unknown()).nullable(),
    errors: z.array(runError),
    escalation: escalation.nullable(),
    callback: z.strictObject({
      url: z.string().nullable(),
      status: callbackStatus,
      attempts: z
        .array(callbackAttemptBrief)
        .describe('The newest 100, oldest first. Full log: `…/callbacks`'),
    }),
    status_url: z.string(),
    websocket_room: z.string(),
    last_seq: z.int().describe('`seq` of the last event in this response'),
    created_by: createdBy,
    rerun_of: rerunOf,
    rerun_from: rerunFrom,
    question: openQuestion,
    usage: usage.nullable().describe('Usage of all models in this run; null if no model was called'),
    reruns: z
      .array(
        z.strictObject({
          execution_id: uuidOut,
          state: z.enum(TASK_STATES),
          rerun_from: rerunFrom,
          created_at: timestamp,
        }),
      )
      .describe('The newest 100 reruns of this run, oldest first'),
  })
  .meta({ id: 'TaskDetail' });

/** A run in a list: the detail without its long fields. It is the stored projection, milliseconds old at most. */
export const listed = z
  .strictObject({
    ...head,
    task_type: z.enum(TASK_TYPES),
    metadata: z.record(z.string(), z.unknown()),
    progress,
    ...timing,
    errors: z.array(runError),
    callback: z.strictObject({ url: z.string().nullable(), status: callbackStatus }),
    status_url: z.string(),
    websocket_room: z.string(),
    last_seq: z.int(),
    created_by: createdBy,
    rerun_of: rerunOf,
    question: openQuestion,
  })
  .meta({ id: 'TaskListed' });
export const listPage = pageOf(listed).meta({ id: 'TaskPage' });

/** A search text, as the search that it describes. */
const search = text({ least: 1, most: MAX_SEARCH_LENGTH }).transform((given, context) => {
  const found = runSearchOf(given);
  if (found) return found;
  context.addIssue(fieldProblem('invalid_format', 'must contain a letter or a digit'));
  return z.NEVER;
});

const reason = text({ most: MAX_REASON_LENGTH }).optional().describe('Reason shown to people');

/** What filters a list of tasks, by the name of the parameter. */
const filters = {
  q: search
    .optional()
    .describe(
      'Only runs whose title and metadata contain all these words or word prefixes, or whose id begins with this text (at least 8 digits)',
    ),
  state: listParameter(TASK_STATES).optional(),
  task_type: listParameter(TASK_TYPES).optional(),
  errors: listParameter(RUN_ERROR_CODES).optional().describe('Only runs with one of these codes in `errors`'),
  created_after: givenTime.optional().describe('Submitted at or after this time'),
  created_before: givenTime.optional().describe('Submitted before this time'),
  project_id: uuid.optional().describe('For users, who can access all projects of their workspace'),
  created_by: text({ least: 1, most: MAX_ACTOR_LENGTH })
    .optional()
    .describe('Only runs of this submitter: `created_by` of a run, or `me` for the caller'),
  needs_me: z
    .literal('true')
    .optional()
    .describe(
      'Only runs that wait for a person: an agent has asked a question, or the run was escalated and has not been rerun',
    ),
};

/**
 * Returns the schema of these parameters, and of `metadata.<name>=<value>`, which compares a top-level field of the metadata
 * by its text.
 */
function withMetadataFilters<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = z.strictObject(shape);
  return known.catchall(z.unknown()).superRefine(
    (given, context) => {
      const others = Object.entries(given).filter(([name]) => !Object.hasOwn(shape, name));
      for (const [index, [name, value]] of others.entries()) {
        if (!/^metadata\..+/s.test(name)) {
          context.addIssue({ code: 'unrecognized_keys', keys: [name], input: given });
        } else if (typeof value !== 'string') {
          context.addIssue({ code: 'invalid_type', expected: 'string', path: [name], input: value });
        } else if (!isStorableJson([name, value])) {
          const message = 'must not contain a NUL character or half of a surrogate pair';
          context.addIssue({ ...fieldProblem('not_storable', message), path: [name] });
        } else if (index === MAX_METADATA_FILTERS) {
          const message = `must not be given: at most ${MAX_METADATA_FILTERS} fields of the metadata can be filtered by at once`;
          context.addIssue({ ...fieldProblem('not_allowed', message), path: [name] });
        }
      }
    },
    // Also runs if other parameters are wrong, so that all issues are reported at once.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  );
}

export const listParameters = withMetadataFilters({ ...pageParameters, ...filters });

/** The filters of a list in a body, with the names and values of the parameters. */
const taskFilter = withMetadataFilters({
  ...filters,
  needs_me: z.literal([true, 'true']).optional().describe('Only runs that wait for a person'),
}).superRefine((given, context) => {
  if (Object.keys(given).length > 0) return;
  context.addIssue(fieldProblem('required', 'must contain at least one filter'));
});

export type TaskFilter = z.output<typeof taskFilter>;

const bulkRequest = z.strictObject({
  filter: taskFilter.meta({
    description:
      'The filters of `GET /api/v1/tasks` with their values, `metadata.<name>` included. All must match',
    minProperties: 1,
  }),
  dry_run: z.boolean().default(false).describe('Only returns the number'),
});

/** The bodies that cancel and rerun all runs that match a filter. */
export const bulkRerun = bulkRequest.meta({ id: 'BulkRerun' });
export const bulkCancel = bulkRequest.extend({ reason }).meta({ id: 'BulkCancel' });
export const bulkResult = z
  .strictObject({ count: z.int().describe('Number of runs') })
  .meta({ id: 'BulkResult' });

export const taskParams = z.strictObject({ execution_id: uuid });

/** The optional body of pause and cancel. */
export const actionRequest = z.strictObject({ reason }).meta({ id: 'RunActionRequest' });

/** The optional body of continue. */
export const continueRequest = z
  .strictObject({
    reason,
    question: text({ least: 1, most: 100 })
      .optional()
      .describe('Id of the question that this answers. May be omitted for the first question of a run'),
  })
  .meta({ id: 'ContinueRequest' });

export const eventList = z
  .strictObject({ data: z.array(feedEvent), last_seq: z.int() })
  .meta({ id: 'FeedEvents' });
export const eventParameters = z.strictObject({
  after: integerParameter(0, 2_147_483_647).optional().describe('Only events with a higher `seq`'),
  limit: integerParameter(1, MAX_LISTED_FEED_EVENTS)
    .optional()
    .describe(
      'At most so many events; default: all. More follow after the last one if its `seq` is below `last_seq`. Ignored by event streams',
    ),
});

/** The request and the response of an attempt. */
const attemptedRequest = {
  url: z.string(),
  request_headers: z.record(z.string(), z.string()),
  request_body: z
    .string()
    .nullable()
    .describe('Null for older attempts if the bodies of all have more than 8 MiB'),
  response_status: z.int().nullable(),
  response_headers: z.record(z.string(), z.string()).nullable(),
  response_body: z.string().nullable().describe('The first 16 KiB'),
  failure: z.string().nullable().describe('Kind of failure; null on success'),
  message: z.string().nullable(),
  address: z.string().nullable().describe('IP address of the connection'),
  duration_ms: z.int().nullable(),
  attempted_at: timestamp,
  completed_at: timestamp.nullable(),
  next_attempt_at: timestamp.nullable(),
  reconnected: z
    .boolean()
    .describe('True if a reused connection was closed without a response and the request was sent again'),
};

/** The audit log `workflow_webhook_deliveries` (docs/how-it-works.md), oldest first. */
const callbackAttempt = z
  .strictObject({
    id: uuidOut,
    execution_id: uuidOut,
    attempt: z.int(),
    trigger: callbackTrigger,
    ...attemptedRequest,
  })
  .meta({ id: 'CallbackAttempt' });
export const callbackList = z
  .strictObject({ data: z.array(callbackAttempt) })
  .meta({ id: 'CallbackAttempts' });

/** The log of push notifications (docs/a2a.md). */
const pushAttempt = z
  .strictObject({
    id: uuidOut,
    execution_id: uuidOut,
    config_id: z.string().describe('Id of the push notification configuration'),
    seq: z.int().describe('`seq` of the event of the feed'),
    attempt: z.int(),
    ...attemptedRequest,
  })
  .meta({ id: 'PushAttempt' });
export const pushList = z.strictObject({ data: z.array(pushAttempt) }).meta({ id: 'PushAttempts' });
