import { allRoutes } from '../../src/api/app.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { openApiDocument } from '../../src/api/http/openapi.ts';
import { scopesOf, type Access, type Route } from '../../src/api/http/route.ts';
import { markdownTable, pageHead } from './write.ts';

/** Renders every operation of the API with its permissions and statuses, from the routes and the OpenAPI document. */
export function operationsPage(): string {
  const routes = allRoutes({} as Dependencies); // nothing is called, so no dependencies are needed
  const document = openApiDocument(routes, '');
  const tags = [...new Set(routes.map((route) => route.tag))];
  const groups = tags.flatMap((tag) => {
    const rows = routes.filter((route) => route.tag === tag).map((route) => rowOf(route, document));
    return [
      `## ${tag}`,
      '',
      markdownTable(['operation', 'description', 'who', 'responses', 'problems'], rows),
      '',
    ];
  });
  return `${[
    pageHead('Operations of the HTTP API', 'the routes in `src/api/`'),
    'For concepts, see [the HTTP API](../http-api.md). For request and response schemas, open `/docs`',
    'or `/api/v1/openapi.json` of a running service. For error codes, see [problems](problems.md).',
    '',
    'The column *who* names the required [scope](../http-api.md#authentication). People get scopes from their role. *any* is any valid',
    'credential, *person* a signed-in person with this role or a higher one, *anyone* a request without credentials. `+` marks operations',
    'that an [`Idempotency-Key`](../http-api.md#idempotency) makes safe to repeat.',
    '',
    ...groups,
  ]
    .join('\n')
    .trimEnd()}\n`;
}

type Document = ReturnType<typeof openApiDocument>;

function rowOf(route: Route, document: Document): string[] {
  const operation = (document.paths?.[route.path] as Record<string, { responses?: object }> | undefined)?.[
    route.method
  ];
  const statuses = Object.keys(operation?.responses ?? {}).toSorted();
  const name = `\`${route.method.toUpperCase()} ${route.path}\``;
  return [
    route.idempotent ? `${name} +` : name,
    route.summary,
    whoMay(route.access),
    statuses.filter((status) => status < '400').join(', '),
    statuses.filter((status) => status >= '400').join(', '),
  ];
}

function whoMay(access: Access): string {
  switch (access.kind) {
    case 'public':
      return 'anyone';
    case 'credential':
      return (
        scopesOf(access)
          ?.map((scope) => `\`${scope}\``)
          .join(' or ') ?? 'any'
      );
    case 'person':
      return `person: ${access.least}`;
  }
}
