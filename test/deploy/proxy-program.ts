import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inCheckout } from '../../dev/common/paths.ts';
import { cacheFolder, runs } from '../../dev/services/temporal-binary.ts';

const CADDY = 'github.com/caddyserver/caddy/v2';

/** The proxy can not be built here, for a reason outside of this checkout. */
export class NotBuilt extends Error {
  override name = 'NotBuilt';
}

/**
 * Returns the path of the Caddy that the image of the proxy contains: the same versions and modules, built by Go and kept
 * for later. The first build takes some minutes.
 * @throws NotBuilt where Go is not installed, or can not download the modules
 */
export function proxyProgram(): string {
  const text = readFileSync(inCheckout('deploy', 'compose', 'proxy.Containerfile'), 'utf8');
  const [, version, module, moduleVersion] = /xcaddy build (\S+) --with (\S+)@(\S+)/.exec(text) ?? [];
  if (!version || !module || !moduleVersion) throw new Error('proxy.Containerfile names no versions');
  const name = `caddy-${version}-${module.split('/').at(-1)}-${moduleVersion}`;
  const kept = join(cacheFolder(), `${name}-${process.platform}-${process.arch}`);
  if (existsSync(kept) && runs(kept, ['version'])) return kept;
  if (spawnSync('go', ['version']).status !== 0) throw new NotBuilt('go is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'baton-proxy-'));
  try {
    const imports = [`caddycmd "${CADDY}/cmd"`, `_ "${CADDY}/modules/standard"`, `_ "${module}"`];
    const main = `package main\nimport (\n${imports.join('\n')}\n)\nfunc main() { caddycmd.Main() }\n`;
    writeFileSync(join(folder, 'main.go'), main);
    const go = (...args: string[]) => {
      const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod' };
      const { status, stderr } = spawnSync('go', args, { cwd: folder, env, encoding: 'utf8' });
      if (status === 0) return;
      if (args[0] === 'get') throw new NotBuilt(`go can not download the modules: ${stderr}`);
      throw new Error(`go ${args[0]} failed: ${stderr}`);
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
