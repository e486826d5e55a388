import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProviderV4 } from '@ai-sdk/provider';
import { bundleWorkflowCode, DefaultLogger, type BundleOptions } from '@temporalio/worker';
import type { BundlePlan } from './bundle.ts';
import { withoutComments } from './without-comments.ts';

/* Builds the bundle of the plan in its only argument, as JSON. Started by `bundle.ts`. */

const WORKFLOWS = join(import.meta.dirname, '../..', 'src', 'workflows');

/**
 * The SDK takes a stack trace, with the source map, for each promise in workflow code. With ten frames this uses a
 * third of the CPU of a short run. One frame still shows where an error was thrown. No line of its own: the source map counts
 * the lines without it.
 */
const PREAMBLE = 'Error.stackTraceLimit = 1; ';

const noModels = { specificationVersion: 'v4' } as ProviderV4;

/**
 * Loads the code once for all workflows of a worker instead of once for each. A step of an agent with a model then takes 0.7 ms to
 * create instead of 25, and 15 kB of memory instead of 1.5 MB (docs/decisions/0051-workflows-share-their-code.md).
 */
async function optionsOf({ kind, traced }: BundlePlan): Promise<BundleOptions> {
  const workflowsPath = join(WORKFLOWS, kind === 'workflows' ? 'index.ts' : 'agents/index.ts');
  const workflowInterceptorModules = traced ? [join(WORKFLOWS, 'trace-interceptors.ts')] : [];
  const preloadModules = [...workflowInterceptorModules, workflowsPath];
  const shared = { workflowsPath, workflowInterceptorModules, preloadModules };
  if (kind === 'workflows') return shared;
  // This plugin prepends the globals that the AI SDK requires.
  const { AiSdkPlugin } = await import('@temporalio/ai-sdk');
  const plugin = new AiSdkPlugin({ modelProvider: noModels });
  return { ...shared, plugins: [plugin] };
}

/** Returns a bundle without comments, except for its last: the source map, which only counts lines. */
function compact(code: string): string {
  const end = code.lastIndexOf('//# sourceMappingURL=');
  return withoutComments(code.slice(0, end), 'commonjs') + code.slice(end);
}

/**
 * Returns JavaScript with escapes for other characters. V8 keeps a text with a single character beyond Latin-1, even in a
 * comment, as two bytes for each: 1 MB more in each thread that runs workflows.
 */
function inAscii(code: string): string {
  return code.replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const plan = JSON.parse(process.argv[2] ?? '') as BundlePlan;
const { failureConverterPath, codePath } = plan;
const { code } = await bundleWorkflowCode({
  ...(await optionsOf(plan)),
  logger: new DefaultLogger('WARN'),
  // The source map keeps the lines for stack traces. Columns and sources would only be copied into the memory of each thread that
  // runs workflows (11 MB).
  webpackConfigHook: (config) => ({ ...config, devtool: 'inline-nosources-cheap-module-source-map' }),
  ...(failureConverterPath === null ? {} : { failureConverterPath }),
});
// Renamed when complete, so that no process reads a partial file.
const draft = `${codePath}.${randomUUID()}`;
await writeFile(draft, PREAMBLE + inAscii(compact(code)));
await rename(draft, codePath);
