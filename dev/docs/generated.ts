import { clientVocabulary, pythonVocabulary } from './client-vocabulary.ts';
import { chartPage } from './page-chart.ts';
import { cliPage } from './page-cli.ts';
import { eventKindsPage } from './page-events.ts';
import { limitsPage } from './page-limits.ts';
import { operationsPage } from './page-operations.ts';
import { problemsPage } from './page-problems.ts';
import { tokensPage } from './page-tokens.ts';
import { SYNCHRONOUS_MODULES } from './python-client.ts';
import { workspaceFileSchema } from './workspace-file-schema.ts';

/** A generated file: its path below the checkout, and the function that generates it. */
export type GeneratedFile = { path: string; make(): string | Promise<string> };

/** All generated files in git. Manual changes to them are lost. */
export const GENERATED: readonly GeneratedFile[] = [
  { path: 'docs/reference/cli.md', make: cliPage },
  { path: 'docs/reference/operations.md', make: operationsPage },
  { path: 'docs/reference/problems.md', make: problemsPage },
  { path: 'docs/reference/event-kinds.md', make: eventKindsPage },
  { path: 'docs/reference/limits.md', make: limitsPage },
  { path: 'docs/reference/design-tokens.md', make: tokensPage },
  { path: 'docs/reference/workspace-file.schema.json', make: workspaceFileSchema },
  { path: 'deploy/chart/README.md', make: chartPage },
  { path: 'clients/typescript/src/vocabulary.ts', make: clientVocabulary },
  { path: 'clients/python/src/baton_client/_vocabulary.py', make: pythonVocabulary },
  ...SYNCHRONOUS_MODULES,
];
