import type { Invocation } from '../http/invoke.ts';
import type { Route } from '../http/route.ts';
import type { Arguments } from './tool.ts';

/** Returns a request to the route from the arguments of a tool, which have the names of its parameters and fields. */
export function invocationOf(route: Route, args: Arguments, text: string): Invocation {
  const params: Record<string, unknown> = {};
  const query: Record<string, unknown> = {};
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(args)) {
    if (hasField(route.params, name)) params[name] = value;
    else if (hasField(route.query, name)) query[name] = inQuery(value);
    // The last schema refuses names that no schema knows.
    else if (route.body) body[name] = value;
    else if (route.query) query[name] = inQuery(value);
    else params[name] = value;
  }
  const isBodyGiven = !route.bodyOptional || Object.keys(body).length > 0;
  return { params, query, body: route.body && isBodyGiven ? body : undefined, text };
}

function hasField(schema: Route['params'], name: string): boolean {
  return schema !== undefined && Object.hasOwn(schema.shape, name);
}

/** Returns a value as a query contains it. */
function inQuery(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}
