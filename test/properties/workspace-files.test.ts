import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { contentOfState, yamlOf } from '../../cli/workspace-file/export-content.ts';
import { parseWorkspaceFile } from '../../cli/workspace-file/parse.ts';
import { planChanges } from '../../cli/workspace-file/plan.ts';
import { PARTS, type WorkspaceState } from '../../cli/workspace-file/state.ts';
import { ROLES, SCOPES } from '../../src/domain/people/access.ts';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import { FILTER_FIELDS } from '../../src/domain/webhooks/webhook.ts';
import { holds } from './property.ts';

const AT = '2026-01-01T00:00:00.000Z';

/** Any name that the API accepts; some look like other YAML values. */
const name = fc.oneof(
  fc.constantFrom('yes', '1', 'null', '~', '# no', '- a', 'a: b', '&a', '*a', "'", '2026-01-01', '1e3', '<<'),
  fc
    .string({ unit: 'binary', minLength: 1, maxLength: 20 })
    .map((text) => text.toWellFormed().replaceAll('\u0000', ''))
    .filter((text) => text.trim() !== ''),
);
const value = fc.oneof(
  name,
  fc.integer(),
  fc.double({ min: -1_000, max: 1_000, noNaN: true }),
  fc.boolean(),
  fc.constant(null),
);
const filter = fc.oneof(
  fc.record({ field: fc.constantFrom(...FILTER_FIELDS), changed_to: value }),
  fc.record({
    field: fc.constantFrom(...FILTER_FIELDS),
    values: fc.array(value, { minLength: 1, maxLength: 3 }),
  }),
);
const events = fc.uniqueArray(
  fc.record({ event: fc.constantFrom(...EVENT_KINDS), filters: fc.array(filter, { maxLength: 3 }) }),
  { selector: ({ event }) => event, minLength: 1 },
);
const names = fc.uniqueArray(name, { maxLength: 4 });
const key = fc.record({
  scopes: fc.subarray([...SCOPES], { minLength: 1 }),
  expires_at: fc.constantFrom(null, '2027-01-01T00:00:00.000Z'),
});
const webhook = fc.record({
  description: fc.option(name),
  events,
  active: fc.boolean(),
  listening: fc.boolean(),
  has_secret: fc.boolean(),
  isSent: fc.boolean(),
});

describe('an exported workspace file, for random workspaces', () => {
  it('describes the workspace: applying it with --prune changes nothing', () => {
    holds(
      [names, key, names, webhook, fc.subarray([...ROLES], { minLength: 1 })],
      (keys, keyFields, hooks, { isSent, ...hookFields }, roles) => {
        const hasHeader = isSent && hookFields.has_secret;
        const state: WorkspaceState = {
          projects: [{ id: 'p', key: 'SHOP', name: keys[0] ?? 'Shop', created_at: AT }],
          members: ['owner' as const, ...roles].map((role, index) => {
            const email = `m${index}@example.com`;
            return { id: `m${index}`, email, name: email, role, created_at: AT };
          }),
          invitations: [{ id: 'i', email: 'i@example.com', role: 'viewer', status: 'open', expires_at: AT }],
          keys: keys.map((own, index) => ({
            ...keyFields,
            id: `k${index}`,
            name: own,
            prefix: '',
            project_id: 'p',
            creator: null,
            created_at: AT,
            last_used_at: null,
            revoked_at: null,
            replaced_by: null,
          })),
          webhooks: hooks.map((own, index) => ({
            ...hookFields,
            id: `w${index}`,
            name: own,
            url: `https://example.com/${index}`,
            method: 'POST',
            content_type: 'application/json',
            include_secret_header: hasHeader,
            standard_webhooks: hasHeader,
            status: hookFields.active ? 'active' : 'inactive',
            consecutive_failures: 0,
            disabled_at: null,
            disabled_reason: null,
            previous_secret_until: null,
            created_at: AT,
            updated_at: AT,
          })),
        };
        const text = yamlOf(contentOfState(state, PARTS), []);
        const options = { prune: true, now: new Date(AT), userId: 'm0', keyId: null };
        const plan = planChanges(parseWorkspaceFile(text, 'f').file, state, options);
        assert.deepEqual(plan, { changes: [], faults: [], notes: [] });
      },
      300,
    );
  });
});
