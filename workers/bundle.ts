import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProviderV4 } from '@ai-sdk/provider';
import type { DataConverter } from '@temporalio/common';
import { bundleWorkflowCode, type BundleOptions, type Logger } from '@temporalio/worker';

/** Where a bundle lies. */
type Bundle = { codePath: string };

const ROOT = join(import.meta.dirname, '..');
const CACHE = join(ROOT, '.local', 'cache');
/** What the bundle is made of, apart from the packages that the lock file names. */
const SOURCES = ['src/workflows', 'src/domain'];

const TRACE_INTERCEPTORS = join(ROOT, 'src/workflows/trace-interceptors.ts');

/**
 * The SDK takes a stack trace, through the source map, for every promise that workflow code makes. Of ten frames
 * that is a third of the CPU of a short run; the one frame that is left says where an error was thrown.
 */
const PREAMBLE = 'Error.stackTraceLimit = 1;\n';

/**
 * The workflows of runs and deliveries as one file, made when their sources or packages have changed and kept in `.local/cache`. A
 * worker starts from it in a fifth of the time. Answers the file's path.
 */
export async function workflowBundle(
  logger: Logger,
  converter: DataConverter = {},
  traced = false,
): Promise<Bundle> {
  return await bundled('workflows', { ...converter, traced }, async () => ({
    workflowsPath: join(ROOT, 'src/workflows/index.ts'),
    logger,
  }));
}

/**
 * The same for the workflows of agents, which bring the AI SDK: four times as much code, so only workers that work
 * with models load it.
 */
export async function agentsBundle(
  logger: Logger,
  converter: DataConverter = {},
  traced = false,
): Promise<Bundle> {
  return await bundled('agents', { ...converter, traced }, async () => {
    // What the AI SDK expects of its surroundings is put in front of the bundle by this plugin.
    const { AiSdkPlugin } = await import('@temporalio/ai-sdk');
    const plugin = new AiSdkPlugin({ modelProvider: noModels });
    return { workflowsPath: join(ROOT, 'src/workflows/agents/index.ts'), plugins: [plugin], logger };
  });
}

const noModels = { specificationVersion: 'v4' } as ProviderV4;

async function bundled(
  name: string,
  { failureConverterPath, traced }: DataConverter & { traced: boolean },
  optionsOf: () => Promise<BundleOptions>,
): Promise<Bundle> {
  // How failures are written is part of the code: a bundle for encrypted payloads is another one.
  const sealed = failureConverterPath === undefined ? '' : '-sealed';
  // What carries traces through workflows is put in only where some are kept.
  const variant = `${name}${sealed}${traced ? '-traced' : ''}`;
  const codePath = join(CACHE, `${variant}-${await fingerprint()}.js`);
  if (await stat(codePath).catch(() => null)) return { codePath };
  const { code } = await bundleWorkflowCode({
    ...(await optionsOf()),
    ...(failureConverterPath === undefined ? {} : { failureConverterPath }),
    ...(traced ? { workflowInterceptorModules: [TRACE_INTERCEPTORS] } : {}),
  });
  await mkdir(CACHE, { recursive: true });
  // Several workers may do this at once: each writes a file of its own, and the last rename stands.
  const draft = `${codePath}.${randomUUID()}`;
  await writeFile(draft, PREAMBLE + code);
  await rename(draft, codePath);
  return { codePath };
}

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256').update(PREAMBLE);
  hash.update(await readFile(join(ROOT, 'package-lock.json')));
  for (const folder of SOURCES) {
    const names = await readdir(join(ROOT, folder), { recursive: true });
    for (const name of names.filter((entry) => entry.endsWith('.ts')).toSorted()) {
      hash.update(name).update(await readFile(join(ROOT, folder, name)));
    }
  }
  return hash.digest('hex').slice(0, 16);
}
