import { registerHooks } from 'node:module';

/** Replacements of modules that production code imports, by the folder of the importing file. */
const REPLACED = [
  { module: '@temporalio/workflow', in: '/src/workflows/', by: './engine/workflow-api.ts' },
  { module: 'node:timers/promises', in: '/src/', by: './world/timers-promises.ts' },
];

/** Lets later imports of this thread find the replacements. */
export function replaceModules(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const found = REPLACED.find(
        ({ module, in: folder }) => module === specifier && context.parentURL?.includes(folder),
      );
      if (!found) return next(specifier, context);
      return { url: new URL(found.by, import.meta.url).href, shortCircuit: true };
    },
  });
}
