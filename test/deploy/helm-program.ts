import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, runs } from '../../dev/services/temporal-binary.ts';

const VERSION = 'v4.3.1';

/**
 * Returns the path of Helm: of this machine, or one that Go has built. Go builds it if `BATON_BUILD_HELM=1`, which takes some
 * minutes, and it is kept for later runs. Null if there is none: no package of a registry that this project trusts contains it.
 */
export function helmProgram(): string | null {
  if (runs('helm', ['version'])) return 'helm';
  const kept = join(cacheFolder(), `helm-${VERSION}-${process.platform}-${process.arch}`);
  if (existsSync(kept) && runs(kept, ['version'])) return kept;
  if (process.env['BATON_BUILD_HELM'] !== '1') {
    console.log(
      '    the chart is not rendered: install Helm, or set BATON_BUILD_HELM=1 to build it with Go, which takes some minutes',
    );
    return null;
  }
  const folder = mkdtempSync(join(cacheFolder(), 'helm-'));
  try {
    const env = { ...process.env, GOTOOLCHAIN: 'local', GOBIN: folder };
    const program = `helm.sh/helm/v4/cmd/helm@${VERSION}`;
    const { status, stderr } = spawnSync('go', ['install', program], { env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`go install ${program} failed: ${stderr}`);
    renameSync(join(folder, 'helm'), kept);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return kept;
}
