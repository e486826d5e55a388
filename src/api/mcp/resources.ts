import { ResourceNotFoundError, type ReadResourceResult, type Server } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { MAX_LISTED_FEED_EVENTS } from '../../domain/common/limits.ts';
import type { Invoke } from '../http/invoke.ts';
import { bodyText } from '../http/json-text.ts';
import type { Route } from '../http/route.ts';
import type { eventList } from '../tasks/schema.ts';
import { readContent } from './artifact-content.ts';
import { protocolErrorOf } from './protocol-errors.ts';
import type { McpRequest } from './mcp-request.ts';

/** A kind of resource: what a route returns, under a URI. */
type Template = {
  /** The template as clients see it. */
  template: { name: string; title: string; uriTemplate: string; description: string; mimeType?: string };
  /** `operationId` of the route. */
  operation: string;
  /** Its groups are the parameters of the route, and `after`. */
  uri: RegExp;
  /** The query of the route. */
  query?(after: string | undefined): Record<string, string>;
  /** Returns the content; default: the body of the response. */
  present?(body: unknown, params: Record<string, string>): unknown;
};

const ID = '(?<execution_id>[0-9A-Fa-f-]{36})';

const TEMPLATES: readonly Template[] = [
  {
    template: {
      name: 'task',
      title: 'Task',
      uriTemplate: 'baton://tasks/{execution_id}',
      description: 'A task with its state, progress, steps, output, errors and open question, as JSON',
      mimeType: 'application/json',
    },
    operation: 'readTask',
    uri: new RegExp(`^baton://tasks/${ID}$`),
  },
  {
    template: {
      name: 'task_events',
      title: 'Events of a task',
      uriTemplate: 'baton://tasks/{execution_id}/events{?after}',
      description: `What happened in a task, oldest first, as JSON: ${MAX_LISTED_FEED_EVENTS} events at most, those with a \`seq\` above \`after\`. \`next\` is the URI of the events that follow; null if there are no more.`,
      mimeType: 'application/json',
    },
    operation: 'readTaskEvents',
    uri: new RegExp(`^baton://tasks/${ID}/events(?:\\?after=(?<after>\\d{1,10}))?$`),
    query: (after) => ({
      limit: String(MAX_LISTED_FEED_EVENTS),
      ...(after === undefined ? {} : { after }),
    }),
    present: withNextEvents,
  },
  {
    template: {
      name: 'artifact',
      title: 'Document of a task',
      uriTemplate: 'baton://tasks/{execution_id}/artifacts/{name}',
      description: 'A document that an agent wrote. Its name is in the list of the tool list_artifacts',
    },
    operation: 'downloadTaskArtifact',
    uri: new RegExp(`^baton://tasks/${ID}/artifacts/(?<name>[^/?#]+)$`),
  },
];

/** Registers the methods of resources. There is no list: tasks are found with the tool `list_tasks`. */
export function serveResources(
  server: Server,
  routes: ReadonlyMap<string, Route>,
  mcpRequest: McpRequest,
): void {
  server.setRequestHandler('resources/list', () => ({ resources: [] }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: TEMPLATES.map(({ template }) => template),
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }, { mcpReq }) => {
    return await mcpRequest.traced({ method: 'resources/read', meta: mcpReq._meta }, async () => {
      try {
        return await readResource(routes, mcpRequest.invoke, uri);
      } catch (error) {
        throw protocolErrorOf(mcpRequest, error, uri);
      }
    });
  });
}

/** Returns the URI of the resource of a task. */
export function uriOfTask(id: string): string {
  return `baton://tasks/${encodeURIComponent(id)}`;
}

/** Returns the id of the run that a resource belongs to. @throws ResourceNotFoundError */
export function runOf(uri: string): string {
  const template = TEMPLATES.find((one) => one.uri.test(uri));
  const id = template && paramsOf(template, uri)['execution_id'];
  if (id === undefined) throw new ResourceNotFoundError(uri);
  return id.toLowerCase();
}

async function readResource(
  routes: ReadonlyMap<string, Route>,
  invoke: Invoke,
  uri: string,
): Promise<ReadResourceResult> {
  const template = TEMPLATES.find((one) => one.uri.test(uri));
  const route = template && routes.get(template.operation);
  if (!route) throw new ResourceNotFoundError(uri);
  const { after, ...params } = paramsOf(template, uri);
  const query = template.query?.(after) ?? {};
  const answer = await invoke(route, { params, query, body: undefined, text: '' });
  if (!answer.stream) {
    const body = template.present?.(answer.body, params) ?? answer.body;
    return { contents: [{ uri, mimeType: 'application/json', text: bodyText(body) }] };
  }
  const { media_type: mimeType, text, base64 } = await readContent(params['name'] ?? '', answer);
  return { contents: [text === null ? { uri, mimeType, blob: base64 ?? '' } : { uri, mimeType, text }] };
}

/** Adds to a list of events the URI of those that follow. */
function withNextEvents(body: unknown, { execution_id: id }: Record<string, string>): object {
  const list = body as z.output<typeof eventList>;
  const last = list.data.at(-1)?.seq ?? list.last_seq;
  return { ...list, next: last < list.last_seq ? `baton://tasks/${id}/events?after=${last}` : null };
}

/** @throws ResourceNotFoundError for a wrong percent encoding */
function paramsOf(template: Template, uri: string): Record<string, string> {
  const groups: Record<string, string | undefined> = template.uri.exec(uri)?.groups ?? {};
  const found = Object.entries(groups).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  try {
    return Object.fromEntries(found.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    throw new ResourceNotFoundError(uri);
  }
}
