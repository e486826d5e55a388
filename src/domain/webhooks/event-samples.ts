import type { EventKind } from './event-kinds.ts';

const ADA = { id: 'usr_7', name: 'Ada Okafor', email: 'ada@example.com' };
const BEN = { id: 'usr_12', name: 'Ben Alvarez' };
const SHOP = { id: 'prj_3', key: 'SHOP', name: 'Web shop' };
const ISSUE = {
  id: 'iss_481',
  key: 'SHOP-142',
  title: 'The cart forgets its coupon',
  type: 'Story',
  status: 'In Progress',
  priority: 'High',
  assignee: ADA,
  project: SHOP,
};
const SPRINT = {
  id: 'spr_9',
  name: 'Sprint 9',
  goal: 'Coupons work everywhere',
  start_date: '2026-03-02',
  end_date: '2026-03-13',
  issues_count: 14,
  points: 41,
};

const SAMPLES: Readonly<Record<EventKind, Record<string, unknown>>> = {
  'issue.created': { issue: { ...ISSUE, status: 'To Do', assignee: null }, actor: BEN },
  'issue.updated': {
    issue: ISSUE,
    changes: [
      { field: 'status', old_value: 'To Do', new_value: 'In Progress' },
      { field: 'assignee', old_value: null, new_value: ADA },
    ],
    actor: BEN,
  },
  'issue.deleted': { issue: ISSUE, actor: BEN },
  'issue.moved': {
    issue: ISSUE,
    changes: [
      {
        field: 'project',
        old_value: { id: 'prj_1', key: 'OPS', name: 'Operations' },
        new_value: SHOP,
      },
    ],
    actor: BEN,
  },
  'comment.created': {
    comment: {
      id: 'com_77',
      body: 'It happens only after a change of currency.',
      author: ADA,
      created_at: '2026-03-04T09:30:00.000Z',
    },
    issue: ISSUE,
    actor: { id: ADA.id, name: ADA.name },
  },
  'sprint.started': { sprint: SPRINT, project: SHOP },
  'sprint.completed': {
    sprint: { ...SPRINT, completed_points: 36, completed_issues_count: 12 },
    project: SHOP,
  },
  'project.created': {
    project: { ...SHOP, description: 'Everything that customers see', lead: ADA },
    actor: BEN,
  },
  'user.joined': {
    user: { id: 'usr_31', name: 'Chidi Lindqvist', email: 'chidi@example.com', role: 'member' },
    actor: BEN,
  },
  'deployment.completed': {
    deployment: {
      id: 'dep_205',
      environment: 'production',
      version: '4.12.0',
      status: 'succeeded',
      url: 'https://shop.example.com',
      started_at: '2026-03-04T10:00:00.000Z',
      completed_at: '2026-03-04T10:03:20.000Z',
    },
    project: SHOP,
    actor: BEN,
  },
};

/** Returns sample `data` for an event kind, for documents and test deliveries. Each call returns a new copy. */
export function sampleData(kind: EventKind): Record<string, unknown> {
  return structuredClone(SAMPLES[kind]);
}
