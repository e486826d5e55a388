import { existsSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Source maps, and the sources that they refer to. Node loads no TypeScript from packages. */
const SOURCE = /\.(?:[cm]?[jt]s|css)\.map$|(?<!\.d)\.[cm]?tsx?$/;

/**
 * Removes what npm installs and no program reads, more than a third of an installation: the builds of Temporal's core for
 * other platforms with their source, the headers and the manual of Node beside its executable, and the sources of packages.
 * `modules` is a folder `node_modules`. Runs on Node 20.
 */
export function removeUnread(modules) {
  const bridge = join(modules, '@temporalio', 'core-bridge');
  const unread = [...otherBuilds(bridge), join(bridge, 'sdk-core'), join(modules, 'node', 'node_modules')];
  for (const folder of unread) rmSync(folder, { recursive: true, force: true });
  removeSources(modules);
}

/** The folders of the builds for other platforms. One package contains the builds for all. */
function otherBuilds(bridge) {
  const releases = join(bridge, 'releases');
  if (!existsSync(releases)) return [];
  const { getPrebuiltTargetName } = createRequire(import.meta.url)(join(bridge, 'common.js'));
  const own = getPrebuiltTargetName();
  return readdirSync(releases).flatMap((name) => (name === own ? [] : [join(releases, name)]));
}

/** Does not follow links: those of workspaces lead to the folders of this checkout. */
function removeSources(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeSources(path);
    else if (entry.isFile() && SOURCE.test(entry.name)) rmSync(path);
  }
}
