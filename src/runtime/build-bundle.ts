import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProviderV4 } from '@ai-sdk/provider';
import { bundleWorkflowCode, DefaultLogger, type BundleOptions } from '@temporalio/worker';
import type { BundlePlan } from './bundle.ts';

/* Builds the bundle that its only word asks for, a plan as JSON; see `bundle.ts`, which starts it. */

const WORKFLOWS = join(import.meta.dirname, '../..', 'src', 'workflows');

/**
 * The SDK takes a stack trace, through the source map, for every promise that workflow code makes. Of ten frames
 * that is a third of the CPU of a short run; the one frame that is left says where an error was thrown.
 */
const PREAMBLE = 'Error.stackTraceLimit = 1;\n';

const noModels = { specificationVersion: 'v4' } as ProviderV4;

async function optionsOf(kind: BundlePlan['kind']): Promise<BundleOptions> {
  if (kind === 'workflows') return { workflowsPath: join(WORKFLOWS, 'index.ts') };
  // What the AI SDK expects of its surroundings is put in front of the bundle by this plugin.
  const { AiSdkPlugin } = await import('@temporalio/ai-sdk');
  const plugin = new AiSdkPlugin({ modelProvider: noModels });
  return { workflowsPath: join(WORKFLOWS, 'agents', 'index.ts'), plugins: [plugin] };
}

const { kind, failureConverterPath, traced, codePath } = JSON.parse(process.argv[2] ?? '') as BundlePlan;
const { code } = await bundleWorkflowCode({
  ...(await optionsOf(kind)),
  logger: new DefaultLogger('WARN'),
  ...(failureConverterPath === null ? {} : { failureConverterPath }),
  ...(traced ? { workflowInterceptorModules: [join(WORKFLOWS, 'trace-interceptors.ts')] } : {}),
});
// Written aside first: whoever finds the file finds the whole of it.
const draft = `${codePath}.${randomUUID()}`;
await writeFile(draft, PREAMBLE + code);
await rename(draft, codePath);
