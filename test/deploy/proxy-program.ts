import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inCheckout } from '../../dev/common/paths.ts';
import { cacheFolder, runs } from '../../dev/services/temporal-binary.ts';

const CADDY = 'github.com/caddyserver/caddy/v2';

/**
 * Returns the path of the Caddy that the image of the proxy contains: the same versions and modules. Go builds it if
 * `BATON_BUILD_PROXY=1`, which takes some minutes of all cores, and it is kept for later runs. Null if it was not built.
 */
export function proxyProgram(): string | null {
  const text = readFileSync(inCheckout('deploy', 'compose', 'proxy.Containerfile'), 'utf8');
  const [, version, module, moduleVersion] = /xcaddy build (\S+) --with (\S+)@(\S+)/.exec(text) ?? [];
  if (!version || !module || !moduleVersion) throw new Error('proxy.Containerfile names no versions');
  const name = `caddy-${version}-${module.split('/').at(-1)}-${moduleVersion}`;
  const kept = join(cacheFolder(), `${name}-${process.platform}-${process.arch}`);
  if (existsSync(kept) && runs(kept, ['version'])) return kept;
  if (process.env['BATON_BUILD_PROXY'] !== '1') {
    console.log(
      '    the proxy is not tested: set BATON_BUILD_PROXY=1 to build Caddy with Go, which takes some minutes',
    );
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), 'baton-proxy-'));
  try {
    const imports = [`caddycmd "${CADDY}/cmd"`, `_ "${CADDY}/modules/standard"`, `_ "${module}"`];
    const main = `package main\nimport (\n${imports.join('\n')}\n)\nfunc main() { caddycmd.Main() }\n`;
    writeFileSync(join(folder, 'main.go'), main);
    const go = (...args: string[]) => {
      const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod' };
      const { status, stderr } = spawnSync('go', args, { cwd: folder, env, encoding: 'utf8' });
      if (status !== 0) throw new Error(`go ${args[0]} failed: ${stderr}`);
    };
    go('mod', 'init', 'proxy');
    go('get', `${CADDY}@${version}`, `${module}@${moduleVersion}`);
    go('build', '-trimpath', '-o', 'caddy', '.');
    renameSync(join(folder, 'caddy'), kept);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return kept;
}
