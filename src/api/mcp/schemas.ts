import type { JSONValue, Tool as WireTool } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { createSchema } from 'zod-openapi';
import { allowMoreInResponses } from '../http/openapi.ts';
import type { Route } from '../http/route.ts';
import type { Tool } from './tool.ts';

/** A JSON Schema of an object. */
export type ObjectSchema = WireTool['inputSchema'] & { $defs?: Record<string, JSONValue> };
type Properties = NonNullable<ObjectSchema['properties']>;

const DEFINITIONS = '#/$defs/';

/** Returns the JSON Schema of a tool's arguments: the parameters and the fields of the route's request. */
export function inputSchemaOf(tool: Tool, route: Route): ObjectSchema {
  const body = tool.body ?? route.body;
  const parts = [route.params, route.query, body, tool.extra].filter((part) => part !== undefined);
  const schemas = parts.map((part) => objectSchemaOf(part, 'input'));
  const required = schemas.flatMap((schema) => schema.required ?? []);
  const mandatory = required.filter((name) => !tool.defaults?.names.includes(name));
  const definitions = Object.assign({}, ...schemas.map(({ $defs }) => $defs)) as Record<string, JSONValue>;
  const more = schemas.map(({ additionalProperties }) => additionalProperties).find(Boolean);
  return {
    type: 'object',
    properties: Object.assign({}, ...schemas.map(({ properties }) => properties)) as Properties,
    ...(mandatory.length > 0 ? { required: mandatory } : {}),
    additionalProperties: more ?? false,
    ...(Object.keys(definitions).length > 0 ? { $defs: definitions } : {}),
  };
}

/** Returns the JSON Schema of a tool's structured content: that of the route's successful response. */
export function outputSchemaOf(tool: Tool, route: Route): ObjectSchema | undefined {
  const [answer] = Object.entries(route.responses).filter(([status]) => status.startsWith('2'));
  const schema = tool.output ?? answer?.[1].schema;
  return schema && objectSchemaOf(schema, 'output');
}

function objectSchemaOf(schema: z.ZodType, io: 'input' | 'output'): ObjectSchema {
  const { schema: made, components } = createSchema(schema, {
    io,
    schemaRefPath: DEFINITIONS,
    opts: { override: allowMoreInResponses },
  });
  const definitions = components as Record<string, JSONValue>;
  const { $ref } = made as { $ref?: string };
  const root = $ref === undefined ? made : definitions[$ref.slice(DEFINITIONS.length)];
  const used = Object.entries(definitions).filter(([, definition]) => definition !== root);
  return {
    ...(root as unknown as ObjectSchema),
    ...(used.length > 0 ? { $defs: Object.fromEntries(used) } : {}),
  };
}
