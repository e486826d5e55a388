import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describedApi, writeGenerated } from './api-types.ts';
import { CLIENT_TAGS } from './client-types.ts';
import { PYTHON_CLIENT, pythonForClient } from './python-environment.ts';

/* `node dev/types/python-types.ts`: generates the types of the Python client from the schemas of the service. */

/** The generated module, which is in git. */
export const PYTHON_TYPES = join(PYTHON_CLIENT, 'src', 'baton_client', '_types.py');

/** Schemas of requests, responses and signed bodies that the client uses. Schemas that they refer to are added. */
const NAMED = [
  'Rehearsal',
  'TaskSubmission',
  'TaskSubmitted',
  'TaskRerun',
  'TaskDetail',
  'TaskListed',
  'FeedEvent',
  'CallbackAttempt',
  'AgentCall',
  'Artifact',
  'Token',
  'WebhookPlan',
  'WebhookEdit',
  'Webhook',
  'SecretRotation',
  'RotatedWebhook',
  'TestAttempt',
  'FilterPreviewRequest',
  'FilterPreview',
  'Recovery',
  'Recovered',
  'WebhookStats',
  'ListedDelivery',
  'Delivery',
  'DeliveryDetail',
  'Problem',
  'TaskCallback',
];
/** Query parameters of an operation become the type of this name. The client itself adds the cursor. */
const QUERIES = { TaskFilter: 'listTasks', CallFilter: 'listTaskCalls', DeliveryFilter: 'listDeliveries' };

const HEAD = '# Generated from the schemas of the service by dev/types/python-types.ts.\n';
const DIGEST = /^# Their SHA-256 is ([0-9a-f]{64})\.$/m;
const OPTIONS = [
  ['--input-file-type', 'openapi'],
  ['--output-model-type', 'typing.TypedDict'],
  ['--target-python-version', '3.10'],
  ['--enum-field-as-literal', 'all'],
  ['--formatters', 'builtin'],
  ['--use-title-as-name', '--use-schema-description', '--use-field-description', '--use-double-quotes'],
  ['--disable-timestamp', '--no-use-closed-typed-dict'],
];

type Schema = {
  $ref?: string;
  title?: string;
  description?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  discriminator?: unknown;
};
type Operation = { operationId: string; parameters?: { in?: string; name: string; schema: Schema }[] };

/** Returns whether the schemas of the service are still those of the generated module. Needs no Python. */
export function arePythonTypesCurrent(): boolean {
  return DIGEST.exec(readFileSync(PYTHON_TYPES, 'utf8'))?.[1] === digestOf(JSON.stringify(pythonDocument()));
}

function digestOf(document: string): string {
  return createHash('sha256').update(document).digest('hex');
}

/** Returns the module with a `TypedDict` for each schema. */
export async function pythonTypes(): Promise<string> {
  const python = await pythonForClient();
  const folder = mkdtempSync(join(tmpdir(), 'baton-python-types-'));
  try {
    const [input, output] = [join(folder, 'api.json'), join(folder, 'types.py')];
    const document = JSON.stringify(pythonDocument());
    writeFileSync(input, document);
    const generator = join(dirname(python), 'datamodel-codegen');
    await promisify(execFile)(generator, ['--input', input, '--output', output, ...OPTIONS.flat()]);
    const digest = `# Their SHA-256 is ${digestOf(document)}.\n`;
    return HEAD + digest + readFileSync(output, 'utf8').replace(/^#.*\n#.*\n/, '');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the schemas that the client uses as an OpenAPI document without paths. Each object in it has a name. */
function pythonDocument() {
  const { components, paths } = JSON.parse(JSON.stringify(describedApi(CLIENT_TAGS))) as {
    components: { schemas: Record<string, Schema> };
    paths: Record<string, Record<string, Operation>>;
  };
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const queries = Object.entries(QUERIES).map(([name, id]) => {
    const operation = operations.find(({ operationId }) => operationId === id);
    if (operation === undefined) throw new Error(`There is no operation ${id}.`);
    return [name, queryOf(operation)] as const;
  });
  const all: Record<string, Schema> = { ...components.schemas, ...Object.fromEntries(queries) };
  const payloads = Object.keys(all).filter((name) => name.endsWith('Payload'));
  all['WebhookPayload'] = { oneOf: payloads.map((name) => ({ $ref: `#/components/schemas/${name}` })) };
  const used = withReferences([...NAMED, ...Object.keys(QUERIES), 'WebhookPayload'], all);
  return {
    openapi: '3.1.0',
    info: { title: 'Baton', version: '1' },
    paths: {},
    components: { schemas: Object.fromEntries(used.map((name) => [name, named(schemaOf(all, name), name)])) },
  };
}

function queryOf({ parameters = [] }: Operation): Schema {
  const query = parameters.filter((parameter) => parameter.in === 'query' && parameter.name !== 'cursor');
  return { type: 'object', properties: Object.fromEntries(query.map(({ name, schema }) => [name, schema])) };
}

function schemaOf(all: Record<string, Schema>, name: string): Schema {
  const schema = all[name];
  if (schema === undefined) throw new Error(`There is no schema ${name}.`);
  return schema;
}

/** Returns the names of the given schemas and of all schemas that they refer to, sorted. */
function withReferences(names: readonly string[], all: Record<string, Schema>): string[] {
  const found = new Set<string>();
  const visit = (name: string) => {
    if (found.has(name)) return;
    found.add(name);
    const references = JSON.stringify(schemaOf(all, name)).matchAll(/"#\/components\/schemas\/(\w+)"/g);
    for (const [, reference = ''] of references) visit(reference);
  };
  names.forEach(visit);
  return [...found].toSorted();
}

/**
 * Returns a schema that contains only what a type can express. Each object in it gets a name from its place, such as
 * `TaskDetailCallback`, since the generator would number equal names.
 */
function named(schema: Schema, name: string): Schema {
  const { $ref, description, type, enum: values, required, properties, items, anyOf, oneOf } = schema;
  if ($ref !== undefined) return { $ref };
  const common = {
    ...(description === undefined ? {} : { description }),
    ...(type === undefined ? {} : { type }),
  };
  if (schema.const !== undefined) return { ...common, const: schema.const };
  if (values !== undefined) return { ...common, enum: values };
  // A map that names some of its fields, such as `metadata`, accepts every other field.
  if (schema.additionalProperties === true) return { ...common, additionalProperties: true };
  if (properties !== undefined) {
    const fields = Object.entries(properties).map(([key, value]) => [
      key,
      named(value, name + inPascalCase(key)),
    ]);
    return { ...common, title: name, properties: Object.fromEntries(fields), required: required ?? [] };
  }
  if (items !== undefined) return { ...common, items: named(items, singular(name)) };
  const variants = anyOf ?? oneOf;
  if (variants !== undefined) {
    return { ...common, anyOf: variants.map((variant) => named(variant, name)) };
  }
  return schema.additionalProperties === undefined
    ? common
    : { ...common, additionalProperties: schema.additionalProperties };
}

function inPascalCase(field: string): string {
  return field
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

function singular(name: string): string {
  return name.replace(/s$/, '');
}

if (import.meta.main) writeGenerated(PYTHON_TYPES, await pythonTypes());
