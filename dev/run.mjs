/*
 * The first step of `npm start`, `npm test` and the other commands. It runs on the Node of the machine (20 or newer)
 * and uses no packages. It installs the dependencies if necessary, and then starts the command with the Node among
 * them. `prepare <command>` only installs: `dev/start.sh` follows.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeUnread } from './remove-unread.mjs';

const checkout = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const installed = join(checkout, 'node_modules', '.package-lock.json');
const incomplete = join(checkout, 'node_modules', '.baton-installing');
const packagedNode = join(checkout, 'node_modules', 'node', 'bin', 'node');
/** Where code is kept as `npm start` loads it, see `dev/launcher/precompile.ts`. */
const cache = join(checkout, '.local', 'cache');
const loadCode = [
  '--disable-warning=ExperimentalWarning',
  '--import',
  join(checkout, 'src', 'runtime', 'load-code.mjs'),
];

/** The Node of this machine runs everything from this version on. An older one needs the package `node`. */
const MODERN = 26;
const version = Number(process.versions.node.split('.')[0]);

/** The program of each command, and arguments to put before those of the command line. */
const PROGRAMS = {
  start: ['dev/launcher/start.ts'],
  test: ['dev/tests/run.ts', 'fast'],
  'test:long': ['dev/tests/run.ts', 'long'],
  check: ['dev/checks/check.ts'],
  bench: ['bench/main.ts'],
  faults: ['faults/main.ts'],
  simulate: ['simulation/main.ts'],
  mutate: ['dev/mutation/main.ts'],
  client: ['dev/package/client.ts'],
  'client:python': ['dev/package/python.ts'],
  package: ['dev/package/main.ts'],
  sbom: ['dev/checks/sbom.ts'],
  walk: ['dev/walk/main.ts'],
  receiver: ['cli/main.ts', 'receiver'],
};

/** The commands that need the service, its screens and the launcher. The others need the tools of tests and checks, too. */
const WITHOUT_TOOLS = ['start', 'receiver', 'sbom'];
const PACKAGE_OF_NODE = /^node_modules\/node(-bin-setup)?(\/|$)/;

/** Prints a message and exits. */
function giveUp(sentence) {
  console.error(sentence);
  process.exit(1);
}

/** Packages by their place: those of the lock file, or those that are installed. */
function packagesIn(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}

/**
 * Returns what npm has to do: `null` if nothing, `install` to add what is missing, `ci` to start from nothing, because nothing is
 * installed, an installation was broken off, or other versions are installed.
 */
function plan(needsTools) {
  if (!existsSync(installed) || existsSync(incomplete)) return { command: 'ci', needsTools };
  try {
    const wanted = Object.entries(packagesIn(join(checkout, 'package-lock.json')));
    const there = packagesIn(installed);
    const isThere = ([place, { version: wantedVersion }]) => there[place]?.version === wantedVersion;
    const tools = wanted.filter(([, { dev, optional, link }]) => dev && !optional && !link);
    const others = wanted.filter(
      ([place, { dev, optional, link }]) =>
        place.startsWith('node_modules/') && !dev && !optional && !link && isNeeded(place, needsTools),
    );
    const hasTools = tools.every(isThere);
    const isStale = wanted.some((one) => one[0] in there && !isThere(one));
    if (isStale) return { command: 'ci', needsTools: needsTools || tools.some(([place]) => place in there) };
    return others.every(isThere) && (hasTools || !needsTools) ? null : { command: 'install', needsTools };
  } catch {
    return { command: 'ci', needsTools };
  }
}

/** Whether a package outside the tools must be installed: the package `node` only where it is used. */
function isNeeded(place, needsTools) {
  return needsTools || version < MODERN || !PACKAGE_OF_NODE.test(place);
}

/** Returns the words for npm. A command without tools leaves out most packages. */
function wordsFor({ command, needsTools }) {
  const common = ['--no-fund', '--no-audit', '--loglevel', 'error'];
  const folders = ['web', 'dev', ...(version < MODERN ? ['dev/node'] : [])];
  const some = [
    '--omit=dev',
    '--include-workspace-root',
    ...folders.flatMap((folder) => ['--workspace', folder]),
  ];
  return [command, ...(command === 'install' ? ['--no-save'] : []), ...common, ...(needsTools ? [] : some)];
}

function sayWhy(output) {
  if (/ENOSPC|no space left/i.test(output))
    return 'The disk is full (no space left on device). Free some space, then start again.';
  if (/EACCES|EPERM|EROFS/.test(output)) return `This user cannot write to ${checkout}/node_modules.`;
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|network/i.test(output)) {
    return "The package registry is unreachable. Connect this machine to the internet (or set npm's registry), then start again.";
  }
  return 'npm could not install the dependencies. See its output above.';
}

/**
 * Installs the dependencies. A lock lets only one command install at a time, since `npm ci` empties the folder first.
 * The lock of a command that has died is ignored.
 */
async function installAlone(needsTools) {
  const lock = join(checkout, '.local', 'installing');
  tryTo(() => mkdirSync(dirname(lock), { recursive: true }));
  for (let waited = 0; ; waited += 1) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      // If the lock cannot be written, the installation fails with the reason.
      if (error.code !== 'EEXIST') break;
      if (!isHeld(lock)) {
        tryTo(() => rmSync(lock, { force: true }));
        continue;
      }
      if (waited === 0) console.log('  … waiting for another command that installs the dependencies');
      await new Promise((done) => setTimeout(done, 500));
    }
  }
  // Another command may have installed them since.
  const now = plan(needsTools);
  if (now !== null) await install(now);
  tryTo(() => rmSync(lock, { force: true }));
}

function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Returns whether the process that created the lock is alive. A new lock may have no process id yet. */
function isHeld(lock) {
  const pid = Number(textOf(lock));
  try {
    if (!(pid > 0)) return statSync(lock).mtimeMs > Date.now() - 5_000;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Runs npm and shows the elapsed time. */
async function install(what) {
  if (
    spawnSync('npm', ['--version'], { stdio: 'ignore', shell: process.platform === 'win32' }).status !== 0
  ) {
    giveUp(
      'npm is missing: install Node.js 20 or newer together with npm (https://nodejs.org), then start again.',
    );
  }
  const began = Date.now();
  const live = process.stdout.isTTY;
  const seconds = () => `${((Date.now() - began) / 1000).toFixed(1).padStart(5)} s`;
  const title = what.needsTools ? 'dependencies and tools' : 'dependencies';
  const show = () => process.stdout.write(`\r\x1b[K  … ${title.padEnd(22)} ${seconds()}`);
  const ticking = live ? setInterval(show, 200) : null;
  if (!live) console.log(`  … ${title} (npm ${what.command}, takes half a minute or more)`);
  const npm = spawn('npm', wordsFor(what), {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  });
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => (output += chunk));
  const stop = () => npm.kill('SIGTERM');
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const code = await new Promise((done) => npm.once('close', done).once('error', () => done(1)));
  process.off('SIGINT', stop).off('SIGTERM', stop);
  if (code === 0) {
    const compiling = word === 'start' ? precompile() : null;
    tryTo(() => removeUnread(join(checkout, 'node_modules')));
    await compiling;
  }
  if (ticking !== null) clearInterval(ticking);
  if (live) process.stdout.write('\r\x1b[K');
  if (code !== 0) {
    // `npm ci` empties node_modules first. This file marks the folder as incomplete.
    if (existsSync(dirname(incomplete))) tryTo(() => writeFileSync(incomplete, ''));
    console.error(output.trim());
    giveUp(sayWhy(output));
  }
  tryTo(() => rmSync(incomplete, { force: true }));
  console.log(`  ✓ ${title.padEnd(22)} ${seconds()}`);
}

/** Compiles the code of `npm start`. If this fails, the programs compile it and report why. */
async function precompile() {
  const program = join(checkout, 'dev', 'launcher', 'precompile.ts');
  const node = spawn(modernNode(), [...loadCode, program], {
    cwd: checkout,
    stdio: 'ignore',
    env: environment(),
  });
  await new Promise((done) => node.once('close', done).once('error', done));
}

function tryTo(work) {
  try {
    work();
  } catch {
    // A later step fails with the reason.
  }
}

function modernNode() {
  return existsSync(packagedNode) ? packagedNode : process.execPath;
}

function environment() {
  const binaries = join(checkout, 'node_modules', '.bin');
  return {
    ...(word === 'start'
      ? { NODE_COMPILE_CACHE: join(cache, 'node'), BATON_CODE_CACHE: join(cache, 'code') }
      : {}),
    ...process.env,
    PATH: `${binaries}:${process.env.PATH ?? ''}`,
  };
}

/** Runs a program with the installed Node, with the same terminal, signals and exit code. */
function handOver(words) {
  const program = modernNode();
  const node = spawn(program, words, { cwd: checkout, stdio: 'inherit', env: environment() });
  // The terminal sends Ctrl-C to both processes. The program ignores a second one that follows immediately.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => node.kill(signal));
  if (process.env.npm_lifecycle_event !== undefined) endWithShell(() => node.kill('SIGTERM'));
  node.once('error', (error) =>
    giveUp(`${program} does not work: ${error.message}. Remove node_modules, then start again.`),
  );
  node.once('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

/**
 * Ends the program when the shell between npm and this process ends. npm passes signals only to this shell, and some
 * shells exit without passing them on.
 */
function endWithShell(end) {
  const shell = process.ppid;
  const watching = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watching);
    end();
  }, 250);
}

const given = process.argv.slice(2);
const isPreparing = given[0] === 'prepare';
const [word, ...words] = isPreparing ? given.slice(1) : given;
if (version < 20) {
  giveUp(`Node.js 20 or newer is required (https://nodejs.org). This is ${process.versions.node}.`);
}
if (!Object.hasOwn(PROGRAMS, word ?? ''))
  giveUp(`Usage: node dev/run.mjs [prepare] <command>. Commands: ${Object.keys(PROGRAMS).join(', ')}.`);
const needsTools = !WITHOUT_TOOLS.includes(word);
if (plan(needsTools) !== null) await installAlone(needsTools);
if (!isPreparing) {
  const [program, ...before] = PROGRAMS[word];
  handOver([...(word === 'start' ? loadCode : []), join(checkout, program), ...before, ...words]);
}
