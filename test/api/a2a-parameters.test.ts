import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isMethod, matchRest, METHODS, paramsOfQuery } from '../../src/api/a2a/methods.ts';
import { pageTokenOf, positionOfToken } from '../../src/api/a2a/page-token.ts';
import { checkedParams } from '../../src/api/a2a/params.ts';
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
} from '../../src/domain/common/limits.ts';
import { a2aMessage } from './a2a-message.ts';

const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) });
/** Returns parameters of `GetTask` that are nested so deeply. */
const nestedTask = (levels: number) => ({ id: 'a', metadata: nested(levels - 1) });
const text = (length: number) => 'x'.repeat(length);
const texts = (count: number) => Array.from({ length: count }, () => ({ text: '' }));
const TOKEN = `1767225600000_${randomUUID()}`;
const URL_PREFIX = 'https://example.com/';
const push = (fields: object = {}) => ({ url: URL_PREFIX, ...fields });
const configured = (fields: object) => ({
  message: a2aMessage(),
  configuration: { taskPushNotificationConfig: push(fields) },
});

describe('the parameters of an A2A method', () => {
  const accepted: [string, unknown][] = [
    ['SendMessage', { message: a2aMessage(), metadata: null, configuration: null, tenant: '' }],
    ['SendMessage', { message: a2aMessage({ taskId: text(100), metadata: null }) }],
    ['SendMessage', { message: a2aMessage({ messageId: text(MAX_A2A_MESSAGE_ID_LENGTH) }) }],
    ['SendMessage', { message: a2aMessage({ contextId: text(MAX_A2A_CONTEXT_ID_LENGTH) }) }],
    ['SendMessage', { message: a2aMessage({ parts: texts(MAX_A2A_PARTS) }) }],
    ['SendMessage', { message: a2aMessage({ parts: [{ raw: '' }, { url: '' }, { data: null }] }) }],
    ['SendMessage', { message: a2aMessage(), configuration: { historyLength: 0, returnImmediately: null } }],
    ['SendMessage', { message: a2aMessage(), configuration: { acceptedOutputModes: ['text/plain'] } }],
    ['SendMessage', configured({ taskId: '' })],
    ['SendStreamingMessage', configured({ authentication: null })],
    ['GetTask', { id: text(100), historyLength: null, unknown: 1 }],
    ['GetTask', nestedTask(MAX_A2A_DEPTH - 1)],
    ['ListTasks', { pageSize: 1, pageToken: '', status: 'TASK_STATE_UNSPECIFIED', includeArtifacts: null }],
    ['ListTasks', { pageSize: MAX_A2A_PAGE, pageToken: TOKEN, status: 'TASK_STATE_SUBMITTED' }],
    ['ListTasks', { statusTimestampAfter: '2026-01-31T12:00:00+01:00', status: 'TASK_STATE_WORKING' }],
    ['ListTasks', { status: 'TASK_STATE_REJECTED', historyLength: 5, contextId: '' }],
    ['ListTasks', { status: 'TASK_STATE_AUTH_REQUIRED', includeArtifacts: true }],
    ['CancelTask', { id: 'a', metadata: { reason: 'why' } }],
    ['SubscribeToTask', { id: 'a' }],
    ['CreateTaskPushNotificationConfig', push({ taskId: 'a', id: '' })],
    ['CreateTaskPushNotificationConfig', push({ taskId: 'a', id: text(MAX_A2A_PUSH_ID_LENGTH) })],
    ['CreateTaskPushNotificationConfig', push({ taskId: 'a', token: text(MAX_A2A_PUSH_TOKEN_LENGTH) })],
    ['CreateTaskPushNotificationConfig', { taskId: 'a', url: URL_PREFIX.padEnd(MAX_URL_LENGTH, 'x') }],
    [
      'CreateTaskPushNotificationConfig',
      push({
        taskId: 'a',
        authentication: { scheme: text(100), credentials: text(MAX_A2A_PUSH_CREDENTIALS_LENGTH) },
      }),
    ],
    ['GetTaskPushNotificationConfig', { taskId: 'a', id: 'A_1.b-c' }],
    ['ListTaskPushNotificationConfigs', { taskId: 'a' }],
    ['DeleteTaskPushNotificationConfig', { taskId: 'a', id: 'b' }],
    ['GetExtendedAgentCard', undefined],
    ['GetExtendedAgentCard', { tenant: '' }],
  ];

  it('are accepted up to their limits', () => {
    for (const [method, params] of accepted) assert.deepEqual(checkedParams(method, params), params);
  });

  it('are refused beyond their limits, with the name of the parameter', () => {
    const refused: [string, unknown, RegExp][] = [
      ['SendMessage', { message: a2aMessage({ taskId: text(101) }) }, /taskId/],
      ['SendMessage', { message: a2aMessage({ taskId: 1 }) }, /taskId/],
      [
        'SendMessage',
        { message: a2aMessage({ messageId: text(MAX_A2A_MESSAGE_ID_LENGTH + 1) }) },
        /messageId/,
      ],
      [
        'SendMessage',
        { message: a2aMessage({ contextId: text(MAX_A2A_CONTEXT_ID_LENGTH + 1) }) },
        /contextId/,
      ],
      ['SendMessage', { message: a2aMessage({ parts: texts(MAX_A2A_PARTS + 1) }) }, /parts/],
      ['SendMessage', { message: a2aMessage({ parts: [{ text: '', raw: '' }] }) }, /exactly one/],
      ['SendMessage', { message: a2aMessage({ parts: [{ url: '', data: {} }] }) }, /exactly one/],
      ['SendMessage', { message: a2aMessage({ parts: [{ text: 'a', filename: 1 }] }) }, /filename/],
      ['SendMessage', { message: a2aMessage({ parts: [{ text: 'a', mediaType: 1 }] }) }, /mediaType/],
      ['SendMessage', { message: a2aMessage({ parts: [{ text: 'a', metadata: 1 }] }) }, /metadata/],
      ['SendMessage', { message: a2aMessage({ parts: [{ raw: 1 }] }) }, /raw/],
      ['SendMessage', { message: a2aMessage({ parts: [{ url: 1 }] }) }, /url/],
      ['SendMessage', { message: a2aMessage(), metadata: [] }, /metadata/],
      [
        'SendMessage',
        { message: a2aMessage(), configuration: { acceptedOutputModes: [1] } },
        /acceptedOutputModes/,
      ],
      [
        'SendMessage',
        { message: a2aMessage(), configuration: { returnImmediately: 'true' } },
        /returnImmediately/,
      ],
      ['SendMessage', { message: a2aMessage(), configuration: { historyLength: 1.5 } }, /historyLength/],
      ['SendMessage', configured({ taskId: 'a' }), /taskId/],
      ['SendStreamingMessage', configured({ url: '' }), /url/],
      ['GetTask', { id: text(101) }, /id/],
      ['GetTask', { id: '' }, /id/],
      ['GetTask', { id: 'a', historyLength: -1 }, /historyLength/],
      ['GetTask', { id: 'a', tenant: 'acme' }, /tenant/],
      ['GetTask', nestedTask(MAX_A2A_DEPTH), /100 levels deep/],
      ['ListTasks', { pageSize: MAX_A2A_PAGE + 1 }, /pageSize/],
      ['ListTasks', { pageToken: `${TOKEN}0` }, /pageToken/],
      ['ListTasks', { historyLength: -1 }, /historyLength/],
      ['ListTasks', { includeArtifacts: 'true' }, /includeArtifacts/],
      ['ListTasks', { tenant: 'acme' }, /tenant/],
      ['ListTasks', { statusTimestampAfter: '2026-01-31T12:00:00' }, /statusTimestampAfter/],
      ['CancelTask', { id: 'a', metadata: 1 }, /metadata/],
      ['CancelTask', {}, /id/],
      ['SubscribeToTask', { id: 1 }, /id/],
      ['CreateTaskPushNotificationConfig', push(), /taskId/],
      ['CreateTaskPushNotificationConfig', push({ taskId: 'a', id: text(MAX_A2A_PUSH_ID_LENGTH + 1) }), /id/],
      [
        'CreateTaskPushNotificationConfig',
        push({ taskId: 'a', token: text(MAX_A2A_PUSH_TOKEN_LENGTH + 1) }),
        /token/,
      ],
      [
        'CreateTaskPushNotificationConfig',
        { taskId: 'a', url: URL_PREFIX.padEnd(MAX_URL_LENGTH + 1, 'x') },
        /url/,
      ],
      [
        'CreateTaskPushNotificationConfig',
        push({ taskId: 'a', authentication: { scheme: text(101) } }),
        /scheme/,
      ],
      ['CreateTaskPushNotificationConfig', push({ taskId: 'a', authentication: { scheme: '' } }), /scheme/],
      [
        'CreateTaskPushNotificationConfig',
        push({
          taskId: 'a',
          authentication: { scheme: 'a', credentials: text(MAX_A2A_PUSH_CREDENTIALS_LENGTH + 1) },
        }),
        /credentials/,
      ],
      ['GetTaskPushNotificationConfig', { taskId: 'a', id: '' }, /id/],
      ['GetTaskPushNotificationConfig', { id: 'a' }, /taskId/],
      ['ListTaskPushNotificationConfigs', {}, /taskId/],
      ['ListTaskPushNotificationConfigs', { taskId: 'a', tenant: 'acme' }, /tenant/],
      ['DeleteTaskPushNotificationConfig', { taskId: 'a' }, /id/],
      ['GetExtendedAgentCard', { tenant: 'acme' }, /tenant/],
    ];
    for (const [method, params, message] of refused)
      assert.throws(
        () => checkedParams(method, params),
        { name: 'RequestMalformedError', message },
        `${method} ${message}`,
      );
    assert.throws(() => checkedParams('SendMessage', { configuration: { historyLength: -1 } }), {
      message: /message.*historyLength/,
    });
  });

  it('have names in camelCase, except in the values of the client; a name in camelCase takes precedence', () => {
    const given = {
      message: {
        ...a2aMessage({ task_id: 'a', metadata: { own_name: { in_it: 1 } } }),
        parts: [{ data: { own_name: 1 }, media_type: 'application/json' }],
      },
      configuration: { history_length: 1, historyLength: 2, accepted_output_modes: null },
    };
    const { message, configuration } = checkedParams('SendMessage', given) as {
      message: Record<string, unknown>;
      configuration: unknown;
    };
    const { taskId, metadata, parts } = message;
    assert.deepEqual([taskId, metadata], ['a', { own_name: { in_it: 1 } }]);
    assert.deepEqual(parts, [{ data: { own_name: 1 }, mediaType: 'application/json' }]);
    assert.deepEqual(configuration, { historyLength: 2, acceptedOutputModes: null });
  });

  it('are numbers and booleans in a query as in JSON', () => {
    const parsed = (query: string) => paramsOfQuery(new URLSearchParams(query));
    assert.deepEqual(
      parsed('pageSize=7&historyLength=-1&includeArtifacts=true&contextId=7&status=TASK_STATE_WORKING'),
      {
        pageSize: 7,
        historyLength: -1,
        includeArtifacts: true,
        contextId: '7',
        status: 'TASK_STATE_WORKING',
      },
    );
    assert.deepEqual(parsed('includeArtifacts=false&contextId=true'), {
      includeArtifacts: false,
      contextId: 'true',
    });
    const others = { pageSize: '1.5', historyLength: '1234567890', includeArtifacts: 'yes' };
    assert.deepEqual(parsed(new URLSearchParams(others).toString()), others);
  });
});

describe('a page token of A2A', () => {
  it('is the time and the id of a task, and empty after the last page', () => {
    const position = { at: new Date(1_767_225_600_123), id: randomUUID() };
    const token = pageTokenOf(position);
    assert.equal(token, `1767225600123_${position.id}`);
    assert.deepEqual(positionOfToken(token), position);
    assert.equal(pageTokenOf(null), '');
    assert.equal(positionOfToken(''), null);
  });
});

describe('the methods of A2A', () => {
  const found = (verb: string, path: string) => {
    const match = matchRest(verb, path);
    return match.kind === 'found' ? [match.method, match.template, match.params] : match;
  };

  it('have a path in HTTP+JSON', () => {
    const one = { id: 'a' };
    const config = { taskId: 'a', id: 'b' };
    const configs = '/tasks/a/pushNotificationConfigs';
    const template = '/tasks/{taskId}/pushNotificationConfigs';
    const paths: [verb: string, path: string, method: string, template: string, params: object][] = [
      ['POST', '/message:send', 'SendMessage', '/message:send', {}],
      ['POST', '/message:stream', 'SendStreamingMessage', '/message:stream', {}],
      ['GET', '/tasks', 'ListTasks', '/tasks', {}],
      ['GET', '/tasks/a', 'GetTask', '/tasks/{id}', one],
      ['POST', '/tasks/a:cancel', 'CancelTask', '/tasks/{id}:cancel', one],
      ['GET', '/tasks/a:subscribe', 'SubscribeToTask', '/tasks/{id}:subscribe', one],
      ['POST', '/tasks/a:subscribe', 'SubscribeToTask', '/tasks/{id}:subscribe', one],
      ['GET', '/extendedAgentCard', 'GetExtendedAgentCard', '/extendedAgentCard', {}],
      ['POST', configs, 'CreateTaskPushNotificationConfig', template, { taskId: 'a' }],
      ['GET', configs, 'ListTaskPushNotificationConfigs', template, { taskId: 'a' }],
      ['GET', `${configs}/b`, 'GetTaskPushNotificationConfig', `${template}/{id}`, config],
      ['DELETE', `${configs}/b`, 'DeleteTaskPushNotificationConfig', `${template}/{id}`, config],
    ];
    for (const [verb, path, ...expected] of paths) assert.deepEqual(found(verb, path), expected, path);
    const named = new Set(paths.map(([, , method]) => method));
    assert.deepEqual([...named].toSorted(), Object.keys(METHODS).toSorted());
  });

  it('have no other path or verb', () => {
    for (const path of ['', '/', '/tasks/', '/tasks/a/b', '/tasks/a:pause', '/x/tasks', '/message:send/x'])
      assert.deepEqual(found('GET', path), { kind: 'unknown' }, path);
    const wrong = (verb: string, path: string, allowed: string[]) =>
      assert.deepEqual(found(verb, path), { kind: 'wrong_verb', allowed });
    wrong('DELETE', '/tasks/a:subscribe', ['GET', 'POST']);
    wrong('PUT', '/tasks/a/pushNotificationConfigs', ['POST', 'GET']);
    wrong('POST', '/tasks/a', ['GET']);
    assert.deepEqual(['GetTask', 'getTask', 'toString', ''].map(isMethod), [true, false, false, false]);
  });

  it('require the scope to write if they change something', () => {
    const methodsWith = (scope: string | null) =>
      Object.entries(METHODS).flatMap(([name, required]) => (required === scope ? [name] : []));
    assert.deepEqual(methodsWith('tasks:write'), [
      'SendMessage',
      'SendStreamingMessage',
      'CancelTask',
      'CreateTaskPushNotificationConfig',
      'DeleteTaskPushNotificationConfig',
    ]);
    assert.deepEqual(methodsWith('tasks:read'), [
      'GetTask',
      'ListTasks',
      'SubscribeToTask',
      'GetTaskPushNotificationConfig',
      'ListTaskPushNotificationConfigs',
    ]);
    assert.deepEqual(methodsWith(null), ['GetExtendedAgentCard']);
  });
});
