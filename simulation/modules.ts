import { AsyncLocalStorage } from 'node:async_hooks';
import { registerHooks } from 'node:module';

type Replacement = {
  /** What is imported: a package, or the end of the path of a module. */
  module: string | RegExp;
  /** The files that import the replacement. */
  in: RegExp;
  by: string;
};

/** Modules of `src/database/`, and the modules of `runs/store/` that replace them. */
const STATEMENTS = {
  'agents/agent-calls': 'reads',
  'people/actors': 'reads',
  'tasks/artifacts': 'unused',
  'tasks/callbacks': 'callbacks',
  'tasks/feed': 'feed',
  'tasks/push': 'unused',
  'tasks/reruns': 'reruns',
  'tasks/run-notices': 'unused',
  'tasks/task-runs': 'task-runs',
};

/** Replacements of modules that production code imports. */
const REPLACED: readonly Replacement[] = [
  {
    module: '@temporalio/workflow',
    // The workflows of runs use the SDK itself.
    in: /\/src\/workflows\/(dispatch-events|endpoint-backlog|webhook-delivery)\.ts$/,
    by: './engine/workflow-api.ts',
  },
  { module: 'node:timers/promises', in: /\/src\//, by: './world/timers-promises.ts' },
  ...Object.entries(STATEMENTS).map(([name, by]) => ({
    module: new RegExp(`/src/database/${name}\\.ts$`),
    in: /\/src\//,
    by: `./runs/store/${by}.ts`,
  })),
];

/** Lets later imports of this thread find the replacements. */
export function replaceModules(): void {
  // As in the sandbox of a worker. The SDK's cancellation scopes need it.
  Object.assign(globalThis, { AsyncLocalStorage });
  registerHooks({
    resolve(specifier, context, next) {
      const importer = context.parentURL ?? '';
      const path = specifier.startsWith('.') ? new URL(specifier, importer).pathname : specifier;
      const found = REPLACED.find(
        ({ module, in: files }) =>
          files.test(importer) && (typeof module === 'string' ? module === path : module.test(path)),
      );
      if (!found) return next(specifier, context);
      return { url: new URL(found.by, import.meta.url).href, shortCircuit: true };
    },
  });
}
