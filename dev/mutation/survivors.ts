/** Mutants that no test kills, because they have no observable effect. */
export type Survivors = {
  file: string;
  reason: string;
  /** The original code and the mutated code of each, on one line. */
  mutants: readonly (readonly [code: string, mutated: string])[];
};

const FASTER = 'Only faster: without it, the code below gives the same result.';
const LESS_MEMORY = 'Only saves memory: entries that remain have no effect.';
const TYPES_ONLY = 'Only satisfies the compiler: the case cannot occur, or the code after it handles it.';

export const SURVIVORS: readonly Survivors[] = [
  {
    file: 'src/domain/webhooks/attempt-scheduler.ts',
    reason: `${LESS_MEMORY} A time from before an attempt was added never prolongs its wait.`,
    mutants: [
      ['finishedAt.delete(webhookId);', ';'],
      ['workspace.queues.has(webhookId)', 'true'],
    ],
  },
  {
    file: 'src/domain/webhooks/attempt-scheduler.ts',
    reason: FASTER,
    mutants: [
      ['waiting === 0', 'false'],
      ['waiting === 0 || running >= limits.overall', 'running >= limits.overall'],
    ],
  },
  {
    file: 'src/domain/webhooks/attempt-scheduler.ts',
    reason: TYPES_ONLY,
    mutants: [['!workspace', 'false']],
  },
  {
    file: 'src/domain/webhooks/matching.ts',
    reason: 'Entries that are not objects are ignored.',
    mutants: [['[]', '["Stryker was here"]']],
  },
  {
    file: 'src/domain/webhooks/matching.ts',
    reason: FASTER,
    mutants: [
      ["typeof named === 'string'", 'false'],
      ["'string'", '""'],
      ['named.slice(0, SHOWN_LENGTH)', 'named'],
    ],
  },
  {
    file: 'src/domain/webhooks/matching.ts',
    reason: 'No filter has an empty list of values.',
    mutants: [["''", '"Stryker was here!"']],
  },
  {
    file: 'src/domain/webhooks/webhook-filters.ts',
    reason: `${FASTER} A text never has more characters than UTF-16 units.`,
    mutants: [
      ['value.length > MAX_FILTER_VALUE_LENGTH', 'true'],
      ['value.length > MAX_FILTER_VALUE_LENGTH', 'value.length >= MAX_FILTER_VALUE_LENGTH'],
    ],
  },
  {
    file: 'src/domain/webhooks/webhook-plan.ts',
    reason: 'The text that replaces NUL characters has no control characters.',
    mutants: [["''", '"Stryker was here!"']],
  },
  {
    file: 'src/domain/webhooks/webhook-view.ts',
    reason: `${TYPES_ONLY} No time is before null.`,
    mutants: [['until !== null', 'true']],
  },
  {
    file: 'src/domain/webhooks/attempt-conditions.ts',
    reason: '`parseInt` ends at the next hyphen.',
    mutants: [['token.slice(0, 13)', 'token']],
  },
  {
    file: 'src/domain/people/access.ts',
    reason: `${TYPES_ONLY} The subject of a token of the service always has an id.`,
    mutants: [["''", '"Stryker was here!"']],
  },
  {
    file: 'src/outbound/address-guard.ts',
    reason: `${TYPES_ONLY} Each address in a special range is in one of the named ranges, and \`split\` returns at least one part.`,
    mutants: [
      ["'a reserved address'", '""'],
      ['range?.reason', 'range.reason'],
      ["''", '"Stryker was here!"'],
    ],
  },
  {
    file: 'src/outbound/ip-address.ts',
    reason:
      'Only satisfies the compiler, or has no effect: `split` returns at least one part, and text that is not a number gives zeros.',
    mutants: [["''", '"Stryker was here!"']],
  },
  {
    file: 'src/outbound/ip-address.ts',
    reason: 'The bits of `undefined` are zero.',
    mutants: [['() => 0', '() => undefined']],
  },
  {
    file: 'src/api/http/fields.ts',
    reason: `${TYPES_ONLY} A page has at least one row if there are more rows.`,
    mutants: [['page.at(-1)?.id', 'page.at(-1).id']],
  },
  {
    file: 'src/domain/tasks/run-state.ts',
    reason: 'A string has neither `id` nor `text`, so the result belongs to no step.',
    mutants: [['[]', '["Stryker was here"]']],
  },
  {
    file: 'src/domain/tasks/run-state.ts',
    reason: 'The copy that is recorded has no undefined fields.',
    mutants: [['result === undefined', 'false']],
  },
  {
    file: 'src/domain/tasks/run-state.ts',
    reason: `${TYPES_ONLY} A paused run cannot be paused again.`,
    mutants: [
      ["from !== 'paused'", 'true'],
      ["'paused'", '""'],
    ],
  },
  {
    file: 'src/security/key-ring.ts',
    reason: 'The replacement contains neither an id nor 32 bytes, so the entry is rejected.',
    mutants: [
      ['[]', '["Stryker was here"]'],
      ["''", '"Stryker was here!"'],
    ],
  },
  {
    file: 'src/security/sealing.ts',
    reason: 'UTF-8 is the default of Node.',
    mutants: [["'utf8'", '""']],
  },
  {
    file: 'src/security/tokens.ts',
    reason: `${TYPES_ONLY} No key has an id that is not text.`,
    mutants: [["typeof kid === 'string'", 'true']],
  },
  {
    file: 'src/security/tokens.ts',
    reason: 'Unknown scopes are ignored.',
    mutants: [['[]', '["Stryker was here"]']],
  },
  {
    file: 'src/domain/tasks/artifact.ts',
    reason: 'The replacement is not a media type either.',
    mutants: [["''", '"Stryker was here!"']],
  },
  {
    file: 'src/domain/tasks/rerun.ts',
    reason: `${TYPES_ONLY} No step has the name \`undefined\`.`,
    mutants: [['first === undefined', 'false']],
  },
  {
    file: 'src/security/sessions.ts',
    reason: `${TYPES_ONLY} \`undefined\` is not a URL.`,
    mutants: [['origin === undefined', 'false']],
  },
  {
    file: 'src/workflows/recorder.ts',
    reason: 'A waiting flush starts at the moment when the previous write ends.',
    mutants: [['this.#nextFlush === null', 'true']],
  },
  {
    file: 'src/domain/common/json-spans.ts',
    reason: FASTER,
    mutants: [["'\\\\'", '""']],
  },
  {
    file: 'src/domain/common/json-spans.ts',
    reason: 'A sum and a difference of two numbers are both even, or both odd.',
    mutants: [['quote - first', 'quote + first']],
  },
  {
    file: 'src/domain/common/json-spans.ts',
    reason: 'A number at the end of the text ends there.',
    mutants: [['at < text.length', 'at <= text.length']],
  },
  {
    file: 'src/domain/common/rate-limiter.ts',
    reason: `${LESS_MEMORY} A full bucket is the same as a new one.`,
    mutants: [
      [
        '{ if (bucket.tokens + ((now - bucket.at) / 1_000) * rate.perSecond >= rate.burst) buckets.delete(key); }',
        '{}',
      ],
      ['buckets.delete(key);', ';'],
      ['bucket.tokens + ((now - bucket.at) / 1_000) * rate.perSecond >= rate.burst', 'false'],
      [
        'bucket.tokens + ((now - bucket.at) / 1_000) * rate.perSecond >= rate.burst',
        'bucket.tokens + (now - bucket.at) / 1_000 * rate.perSecond > rate.burst',
      ],
      [
        'bucket.tokens + ((now - bucket.at) / 1_000) * rate.perSecond',
        'bucket.tokens - (now - bucket.at) / 1_000 * rate.perSecond',
      ],
      ['buckets.size >= sweepAt && !buckets.has(key)', 'false'],
      ['buckets.size >= sweepAt', 'buckets.size > sweepAt'],
    ],
  },
  {
    file: 'src/domain/common/schema-parts.ts',
    reason: `${FASTER} A text never has more characters than UTF-16 units.`,
    mutants: [
      ['value.length > most', 'true'],
      ['value.length > most', 'value.length >= most'],
    ],
  },
  {
    file: 'src/outbound/ip-address.ts',
    reason: 'Text with a line end is not an address.',
    mutants: [['/%.*$/', '/%.*/']],
  },
  {
    file: 'src/outbound/ip-address.ts',
    reason: 'The bits of `NaN` are zero, and `::` stands for at least one group of zeros.',
    mutants: [
      ["text === ''", 'false'],
      ['[]', '["Stryker was here"]'],
    ],
  },
  {
    file: 'src/domain/channel/listening-schemas.ts',
    reason: `${TYPES_ONLY} The expression also matches an empty end.`,
    mutants: [['/=*$/.exec(text)?.[0]', '/=*$/.exec(text)[0]']],
  },
  {
    file: 'src/security/key-ring.ts',
    reason: `${TYPES_ONLY} An entry of the right form has an id and 32 bytes, any other has neither.`,
    mutants: [
      ['id === undefined || bytes.length !== 32', 'id === undefined && bytes.length !== 32'],
      ['id === undefined', 'false'],
      ['bytes.length !== 32', 'false'],
    ],
  },
  {
    file: 'src/security/sealing.ts',
    reason: 'Node 26 refuses shorter tags by itself, older versions do not.',
    mutants: [['{ authTagLength: TAG_BYTES }', '{}']],
  },
  {
    file: 'src/domain/tasks/run-search.ts',
    reason: `${FASTER} Empty words, and terms without words, are left out.`,
    mutants: [
      ['/[\\s!-/:-@[-`{-~]+/', '/[\\s!-/:-@[-`{-~]/'],
      ['/\\s+/', '/\\s/'],
    ],
  },
  {
    file: 'src/domain/tasks/run-search.ts',
    reason: 'The text always has 32 digits.',
    mutants: [
      ['/^(.{8})(.{4})(.{4})(.{4})(.{12})$/', '/^(.{8})(.{4})(.{4})(.{4})(.{12})/'],
      ['/^(.{8})(.{4})(.{4})(.{4})(.{12})$/', '/(.{8})(.{4})(.{4})(.{4})(.{12})$/'],
    ],
  },
  {
    file: 'src/domain/webhooks/event-payload.ts',
    reason: 'A string has no fields.',
    mutants: [['[]', '["Stryker was here"]']],
  },
  {
    file: 'src/domain/channel/channel.ts',
    reason: `${TYPES_ONLY} A room of the right form has a kind and an id, any other has neither.`,
    mutants: [
      ['[]', '["Stryker was here"]'],
      ['kind === undefined || id === undefined', 'kind === undefined && id === undefined'],
      ['kind === undefined', 'false'],
      ['id === undefined', 'false'],
    ],
  },
  {
    file: 'src/domain/common/text.ts',
    reason: `${FASTER} The names of the entries of a list are numbers, and other values have no fields.`,
    mutants: [
      ['Array.isArray(value)', 'false'],
      ["typeof value !== 'object'", 'false'],
    ],
  },
  {
    file: 'src/domain/common/text.ts',
    reason: 'Neither text has an escape.',
    mutants: [["''", '"Stryker was here!"']],
  },
  {
    file: 'src/domain/common/canonical-json.ts',
    reason: `${FASTER} A number with one digit and an exponent of one digit is never rounded.`,
    mutants: [
      ['!SUSPECT.test(text)', 'false'],
      ['/[\\d.]{16}|\\d[eE]/', '/[\\d.]|\\d[eE]/'],
      ['/[\\d.]{16}|\\d[eE]/', '/[\\d.]{16}|\\d[^eE]/'],
    ],
  },
  {
    file: 'src/domain/common/canonical-json.ts',
    reason: `${FASTER} The fields are counted one by one as well.`,
    mutants: [
      ['values + names.length > maxValues', 'false'],
      ['values + names.length', 'values - names.length'],
    ],
  },
  {
    file: 'src/domain/common/canonical-json.ts',
    reason: 'A token that begins with a quotation mark also ends with one.',
    mutants: [[`token.startsWith('"')`, `token.endsWith('"')`]],
  },
  {
    file: 'src/domain/common/canonical-json.ts',
    reason: 'Both notations of a number still get the same text, and other numbers have other digits.',
    mutants: [
      ["''", '"Stryker was here!"'],
      ["'0'", '""'],
      [
        'Number(exponent) - fraction.length + digits.length - short.length',
        'Number(exponent) - fraction.length + digits.length + short.length',
      ],
    ],
  },
  {
    file: 'src/domain/common/validation.ts',
    reason: `${FASTER} The list is shortened at the end, too.`,
    mutants: [
      ['error.issues .slice(0, most)', 'error.issues'],
      ['issue.keys .slice(0, most)', 'issue.keys'],
    ],
  },
  {
    file: 'src/outbound/webhook-request.ts',
    reason: 'No response contains the replacement.',
    mutants: [
      ["''", '"Stryker was here!"'],
      ['[]', '["Stryker was here"]'],
    ],
  },
  {
    file: 'src/outbound/webhook-request.ts',
    reason: FASTER,
    mutants: [['hidden.length === 0', 'false']],
  },
  {
    file: 'src/outbound/webhook-request.ts',
    reason: 'The hexadecimal or Base64 text after the prefix does not contain the prefix again.',
    mutants: [['/^(?:sha256=|v1,)/', '/(?:sha256=|v1,)/']],
  },
  {
    file: 'src/domain/common/validation.ts',
    reason: 'A schema reports a path only inside an object or a list.',
    mutants: [
      ["inner === null || typeof inner !== 'object'", 'false'],
      ["inner === null || typeof inner !== 'object'", "inner === null && typeof inner !== 'object'"],
      ['inner === null', 'false'],
      ["typeof inner !== 'object'", 'false'],
    ],
  },
  {
    file: 'src/api/account/session/password-attempts.ts',
    reason: 'Only names the limiter.',
    mutants: [["'account'", '""']],
  },
  {
    file: 'src/database/people/key-cache.ts',
    reason: 'The number is only compared with an earlier one.',
    mutants: [['changes += 1', 'changes -= 1']],
  },
];
