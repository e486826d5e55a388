import type { Scope } from '../../domain/people/access.ts';

/** The methods of A2A 1.0 and the scopes they require; null: any credential. */
export const METHODS = {
  SendMessage: 'tasks:write',
  SendStreamingMessage: 'tasks:write',
  GetTask: 'tasks:read',
  ListTasks: 'tasks:read',
  CancelTask: 'tasks:write',
  SubscribeToTask: 'tasks:read',
  GetExtendedAgentCard: null,
  CreateTaskPushNotificationConfig: 'tasks:write',
  GetTaskPushNotificationConfig: 'tasks:read',
  ListTaskPushNotificationConfigs: 'tasks:read',
  DeleteTaskPushNotificationConfig: 'tasks:write',
} as const satisfies Record<string, Scope | null>;
export type MethodName = keyof typeof METHODS;

/** A request of either binding. */
export type MethodCall = { method: MethodName; params: Record<string, unknown> };

/** Returns whether the protocol has a method of this name. */
export function isMethod(name: string): name is MethodName {
  return Object.hasOwn(METHODS, name);
}

type Operation = {
  verb: 'GET' | 'POST' | 'DELETE';
  path: RegExp;
  /** The path template, for logs and metrics. */
  template: string;
  method: MethodName;
};

const ID = '(?<id>[^/:]+)';
const CONFIGS = `/tasks/(?<taskId>[^/:]+)/pushNotificationConfigs`;

/** The operations of the HTTP+JSON binding, below the path of the service. */
const OPERATIONS: readonly Operation[] = [
  operation('POST', '/message:send', 'SendMessage'),
  operation('POST', '/message:stream', 'SendStreamingMessage'),
  operation('GET', '/tasks', 'ListTasks'),
  operation('GET', `/tasks/${ID}`, 'GetTask'),
  operation('POST', `/tasks/${ID}:cancel`, 'CancelTask'),
  operation('GET', `/tasks/${ID}:subscribe`, 'SubscribeToTask'),
  operation('POST', `/tasks/${ID}:subscribe`, 'SubscribeToTask'),
  operation('GET', '/extendedAgentCard', 'GetExtendedAgentCard'),
  operation('POST', CONFIGS, 'CreateTaskPushNotificationConfig'),
  operation('GET', CONFIGS, 'ListTaskPushNotificationConfigs'),
  operation('GET', `${CONFIGS}/${ID}`, 'GetTaskPushNotificationConfig'),
  operation('DELETE', `${CONFIGS}/${ID}`, 'DeleteTaskPushNotificationConfig'),
];

/** A matched request of the HTTP+JSON binding: a method with the parameters in its path, or why there is none. */
export type RestMatch =
  | { kind: 'found'; method: MethodName; template: string; params: Record<string, string> }
  | { kind: 'unknown' }
  | { kind: 'wrong_verb'; allowed: string[] };

/** Finds the method for a path below the path of the service. */
export function matchRest(verb: string, path: string): RestMatch {
  const fitting = OPERATIONS.flatMap(({ path: pattern, ...rest }) => {
    const found = pattern.exec(path);
    return found ? [{ ...rest, params: { ...found.groups } }] : [];
  });
  const wanted = fitting.find((candidate) => candidate.verb === verb);
  if (wanted) return { kind: 'found', ...wanted };
  if (fitting.length === 0) return { kind: 'unknown' };
  return { kind: 'wrong_verb', allowed: [...new Set(fitting.map((candidate) => candidate.verb))] };
}

/** Returns the parameters in a query string, with the numbers and booleans of ProtoJSON. */
export function paramsOfQuery(query: URLSearchParams): Record<string, unknown> {
  return Object.fromEntries([...query].map(([name, value]) => [name, valueOf(name, value)]));
}

function valueOf(name: string, value: string): unknown {
  if (name === 'pageSize' || name === 'historyLength')
    return /^-?\d{1,9}$/.test(value) ? Number(value) : value;
  if (name === 'includeArtifacts' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

function operation(verb: Operation['verb'], path: string, method: MethodName): Operation {
  return {
    verb,
    path: new RegExp(`^${path}$`),
    template: path.replaceAll(/\(\?<(\w+)>[^)]*\)/g, '{$1}'),
    method,
  };
}
