import { z } from 'zod';
import { ROLES } from '../../domain/people/access.ts';
import { DEFAULT_PAGE } from '../../domain/common/limits.ts';
import {
  addMember,
  changeRole,
  listMembers,
  removeMember,
  type AdditionRefusal,
  type MemberRefusal,
  type MemberRow,
} from '../../database/people/members.ts';
import { hashPassword, newPassword as makePassword } from '../../security/passwords.ts';
import type { Dependencies } from '../dependencies.ts';
import { cutPage, pageOf, pageParameters, timestamp, uuid, uuidOut } from '../http/fields.ts';
import { answerWithChange } from '../http/answer-with-change.ts';
import { notFound, Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { email, newPassword, personName } from '../../domain/people/person-fields.ts';

const PATH = '/api/v1/members';
const admins = { kind: 'person', least: 'admin' } as const;
const tag = 'member';

const plan = z
  .strictObject({
    email,
    name: personName.optional().describe('Default: the part of the address before @'),
    role: z.enum(ROLES),
    password: newPassword.optional().describe('Default: generated and shown once'),
  })
  .meta({ id: 'MemberPlan' });

const member = z
  .strictObject({
    id: uuidOut.describe('Id of the person'),
    email: z.string(),
    name: z.string(),
    role: z.enum(ROLES),
    created_at: timestamp.describe('When the person became a member'),
  })
  .meta({ id: 'Member' });

const added = member
  .extend({
    initial_password: z
      .string()
      .nullable()
      .describe('Password for the first sign-in, shown once; null if you set one'),
  })
  .meta({ id: 'AddedMember' });

const params = z.strictObject({ id: uuid });

const ADDITION_REFUSALS: Record<AdditionRefusal, string> = {
  member: 'is already a member.',
  elsewhere: 'has an account in another workspace. Send an invitation instead.',
};

/** Returns the routes of the members of a workspace and their roles (docs/http-api.md). */
export function memberRoutes(deps: Dependencies): Route[] {
  return [list(deps), add(deps), change(deps), remove(deps)];
}

function list(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: PATH,
    operationId: 'listMembers',
    tag,
    summary: 'List members, newest first',
    access: { kind: 'person', least: 'viewer' },
    query: z.strictObject(pageParameters),
    responses: {
      200: { description: 'A page of members', schema: pageOf(member).meta({ id: 'MemberPage' }) },
    },
    async handle({ caller: { workspaceId }, query: { limit = DEFAULT_PAGE, cursor } }) {
      const found = await listMembers(deps.database, { workspaceId, cursor, limit: limit + 1 });
      const { rows, nextCursor } = cutPage(found, limit);
      return { status: 200, body: { data: rows.map(present), next_cursor: nextCursor } };
    },
  });
}

function add(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: PATH,
    operationId: 'addMember',
    tag,
    summary: 'Add a member',
    description:
      'Sets an initial password. A member of another workspace is not added, because an admin there may know the password: invite the person.',
    access: admins,
    body: plan,
    idempotent: true,
    responses: { 201: { description: 'Added', schema: added } },
    problems: ['conflict'],
    async handle({ caller: { workspaceId, actor }, body, claim }) {
      const { email: address, name, role, password } = body;
      const made = password ?? makePassword();
      const initial = password === undefined ? made : null;
      const answerOf = (row: MemberRow) => ({
        status: 201,
        body: { ...present(row), initial_password: initial },
      });
      const row = await addMember(deps.database, {
        workspaceId,
        email: address,
        name: name ?? address.split('@')[0] ?? address,
        role,
        passwordHash: await hashPassword(made),
        actor,
        now: deps.clock(),
        withChange: answerWithChange(deps, claim, answerOf),
      });
      if (row === 'admins_only' || row === 'owners_only') throw refusal(row);
      if (typeof row === 'string') throw new Problem('conflict', `${address} ${ADDITION_REFUSALS[row]}`);
      return answerOf(row);
    },
  });
}

function change(deps: Dependencies): Route {
  return route({
    method: 'patch',
    path: `${PATH}/{id}`,
    operationId: 'changeMember',
    tag,
    summary: "Change a member's role",
    access: admins,
    params,
    body: z.strictObject({ role: z.enum(ROLES) }).meta({ id: 'MemberChange' }),
    responses: { 200: { description: 'Changed', schema: member } },
    problems: ['conflict'],
    async handle({ caller: { workspaceId, actor }, params: { id: userId }, body: { role } }) {
      const which = { workspaceId, userId, actor, now: deps.clock() };
      const changed = await changeRole(deps.database, which, role);
      if (typeof changed === 'string') throw refusal(changed);
      return { status: 200, body: present(changed) };
    },
  });
}

function remove(deps: Dependencies): Route {
  return route({
    method: 'delete',
    path: `${PATH}/{id}`,
    operationId: 'removeMember',
    tag,
    summary: 'Remove a member and end their sessions',
    description:
      'Keys that the member created stay valid, unless `revoke_keys` is `true`. `GET /api/v1/keys?created_by=…&active=true` lists them.',
    access: admins,
    params,
    query: z.strictObject({
      revoke_keys: z
        .enum(['true', 'false'])
        .optional()
        .describe('Whether to also revoke the keys that the member created; default: false'),
    }),
    responses: { 204: { description: 'Removed' } },
    problems: ['conflict'],
    async handle({ caller: { workspaceId, actor }, params: { id: userId }, query: { revoke_keys: revoke } }) {
      const revokeKeys = revoke === 'true';
      const which = { workspaceId, userId, actor, revokeKeys, now: deps.clock() };
      const refused = await removeMember(deps.database, which);
      if (revokeKeys) deps.knownKeys.invalidate();
      if (refused) throw refusal(refused);
      return { status: 204 };
    },
  });
}

function refusal(reason: MemberRefusal): Problem {
  switch (reason) {
    case 'missing':
      return notFound('member');
    case 'last_owner':
      return new Problem('conflict', 'This is the last owner. Make another member an owner first.');
    case 'admins_only':
      return new Problem('forbidden', 'You are not an admin of this workspace anymore.');
    case 'owners_only':
      return new Problem('forbidden', 'Only an owner can add, change or remove owners.');
  }
}

function present(row: MemberRow) {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    role: row.role,
    created_at: row.created_at.toISOString(),
  };
}
