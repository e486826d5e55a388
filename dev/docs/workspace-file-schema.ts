import { createSchema } from 'zod-openapi';
import { workspaceFile } from '../../cli/workspace-file/schema.ts';

/** Renders the JSON Schema of workspace files, for editors, from the schema that `baton apply` validates with. */
export function workspaceFileSchema(): string {
  const { schema, components } = createSchema(workspaceFile, { io: 'input', schemaRefPath: '#/$defs/' });
  const document = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Workspace file',
    description: 'The file of `baton apply` (docs/how-to/configuration-as-code.md)',
    ...(schema as object),
    $defs: components,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
