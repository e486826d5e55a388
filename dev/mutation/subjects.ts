import { globSync } from 'node:fs';

/** A group of files that decide something. The report has a score for each. */
export type Subject = { title: string; files: readonly string[] };

/** The mutated files, as patterns of paths. A file belongs to the first subject with a matching pattern. */
export const SUBJECTS: readonly Subject[] = [
  {
    title: 'Matching and filters',
    files: [
      'src/domain/webhooks/{matching,webhook,webhook-filters}.ts',
      'src/activities/deliveries/planned-deliveries.ts',
    ],
  },
  {
    title: 'Schedules',
    files: [
      'src/domain/common/retry-schedules.ts',
      'src/domain/tasks/plan.ts',
      'src/domain/webhooks/{dispatch-batches,dispatch-queue,failure-streak}.ts',
      'src/api/events/batching-window.ts',
    ],
  },
  {
    title: 'Run state',
    files: ['src/domain/tasks/{run-state,task-states,task-run,engine-changes,rerun}.ts'],
  },
  {
    title: 'Fair scheduler',
    files: ['src/domain/webhooks/attempt-scheduler.ts', 'src/domain/common/rate-limiter.ts'],
  },
  { title: 'Signing', files: ['src/outbound/{sign,webhook-request}.ts'] },
  {
    title: 'Address guard',
    files: ['src/outbound/{address-guard,ip-address,special-addresses,resolve}.ts'],
  },
  { title: 'Recorder', files: ['src/workflows/recorder.ts'] },
  {
    title: 'Retries and callbacks',
    files: [
      'src/domain/tasks/callback*.ts',
      'src/domain/webhooks/attempt-conditions.ts',
      'src/database/common/outage.ts',
    ],
  },
  {
    title: 'Idempotency',
    files: ['src/{api/http,domain/common}/idempotency.ts', 'src/database/common/ids.ts'],
  },
  { title: 'Cursor paging', files: ['src/api/http/fields.ts', 'src/gateway/run-room.ts'] },
  {
    title: 'Tokens and keys',
    files: [
      'src/security/{tokens,keys,key-ring,sealing,sessions,return-path}.ts',
      'src/api/account/session/password-attempts.ts',
      'src/database/people/key-cache.ts',
      'src/domain/people/access.ts',
    ],
  },
  { title: 'The rest of the vocabulary', files: ['src/domain/**/*.ts'] },
];

/** Files of `src/domain` that are not mutated, each with the reason. */
export const LEFT_OUT: readonly { files: readonly string[]; reason: string }[] = [
  {
    files: [
      'src/domain/common/{failure-kinds,problem-codes}.ts',
      'src/domain/people/{audit-actions,sign-in-problems}.ts',
      'src/domain/tasks/feed-events.ts',
      'src/domain/webhooks/delivery.ts',
    ],
    reason: 'Lists of names and their texts. The names are types, so the compiler rejects a changed one.',
  },
  {
    files: ['src/domain/common/limits.ts'],
    reason: 'Numbers. `test/docs/generated.test.ts` compares each with `docs/reference/limits.md`.',
  },
  {
    files: [
      'src/domain/tasks/{run-schemas,feed-schemas,callback-schema}.ts',
      'src/domain/channel/channel-answers.ts',
      'src/domain/webhooks/event-documents.ts',
    ],
    reason: 'Descriptions of responses for the documents. Tests with services compare responses with them.',
  },
  {
    files: ['src/domain/webhooks/event-samples.ts'],
    reason: 'Samples. `test/domain/event-payload.test.ts` validates each with the schema of its kind.',
  },
];

/** The files of each subject below a folder, without those that are left out. */
export function filesBySubject(root: string): { title: string; files: string[] }[] {
  const taken = new Set(LEFT_OUT.flatMap(({ files }) => globSync(files, { cwd: root })));
  return SUBJECTS.map(({ title, files }) => {
    const own = globSync(files, { cwd: root })
      .filter((file) => !taken.has(file))
      .toSorted();
    for (const file of own) taken.add(file);
    return { title, files: own };
  });
}
