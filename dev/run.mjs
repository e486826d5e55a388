/*
 * The first step of `npm start`, `npm test` and the others. It runs under whatever Node the machine has (20 or
 * newer), uses nothing that must be installed, sees to the dependencies, and hands over to the Node among them.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const checkout = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const installed = join(checkout, 'node_modules', '.package-lock.json');
const incomplete = join(checkout, 'node_modules', '.baton-installing');
const modernNode = join(checkout, 'node_modules', 'node', 'bin', 'node');

/** What each word runs, and with which words before those of the command line. */
const PROGRAMS = {
  start: ['dev/launcher/start.ts'],
  test: ['dev/tests/run.ts', 'fast'],
  'test:long': ['dev/tests/run.ts', 'long'],
  check: ['dev/checks/check.ts'],
  bench: ['bench/main.ts'],
  faults: ['faults/main.ts'],
  mutate: ['dev/mutation/main.ts'],
  client: ['dev/types/client-package.ts'],
  walk: ['dev/docs/walk.ts'],
  receiver: ['cli/main.ts', 'receiver'],
};

/** Ends with a sentence instead of a stack. */
function giveUp(sentence) {
  console.error(sentence);
  process.exit(1);
}

/** Whether dependencies are missing, were broken off, or are older than the list of them. */
function wantsInstall() {
  if (!existsSync(installed) || !existsSync(modernNode) || existsSync(incomplete)) return true;
  return (
    statSync(join(checkout, 'package-lock.json')).mtimeMs > statSync(installed).mtimeMs && !sameVersions()
  );
}

/** A fresh checkout of the same list has a newer date and the same content. */
function sameVersions() {
  try {
    const wanted = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')).packages;
    const there = JSON.parse(readFileSync(installed, 'utf8')).packages;
    return (
      Object.entries(there).every(([path, { version }]) => wanted[path]?.version === version) &&
      Object.entries(wanted).every(([path, { optional }]) => path === '' || optional || path in there)
    );
  } catch {
    return false;
  }
}

function sayWhy(output) {
  if (/ENOSPC|no space left/i.test(output))
    return 'The disk is full (no space left on device). Free some space, then start again.';
  if (/EACCES|EPERM|EROFS/.test(output)) return `This user cannot write to ${checkout}/node_modules.`;
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|network/i.test(output)) {
    return "The package registry is unreachable. Connect this machine to the internet (or set npm's registry), then start again.";
  }
  return 'npm ci failed. See its output above.';
}

/**
 * Installs what is missing, one command at a time: two that do it at once would empty the folder under each other. The
 * lock of a command that has died counts for nothing.
 */
async function installAlone() {
  const lock = join(checkout, '.local', 'installing');
  tryTo(() => mkdirSync(dirname(lock), { recursive: true }));
  for (let waited = 0; ; waited += 1) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      // Where no lock can be written, the installation will say what is wrong.
      if (error.code !== 'EEXIST') break;
      if (!isHeld(lock)) {
        tryTo(() => rmSync(lock, { force: true }));
        continue;
      }
      if (waited === 0) console.log('  … waiting for another command that installs the dependencies');
      await new Promise((done) => setTimeout(done, 500));
    }
  }
  if (wantsInstall()) await install();
  tryTo(() => rmSync(lock, { force: true }));
}

function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Whether the process that made the lock lives. One that was made this moment may still be without its number. */
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

/** `npm ci` with a line that shows it is alive. */
async function install() {
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
  const show = () => process.stdout.write(`\r\x1b[K  … dependencies           ${seconds()}`);
  const ticking = live ? setInterval(show, 200) : null;
  if (!live) console.log('  … dependencies (npm ci, takes half a minute or more)');
  const npm = spawn('npm', ['ci', '--no-fund', '--no-audit', '--loglevel', 'error'], {
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
  if (ticking !== null) clearInterval(ticking);
  if (live) process.stdout.write('\r\x1b[K');
  if (code !== 0) {
    // npm ci empties node_modules first; what a broken one leaves must not pass for whole.
    if (existsSync(dirname(incomplete))) tryTo(() => writeFileSync(incomplete, ''));
    console.error(output.trim());
    giveUp(sayWhy(output));
  }
  tryTo(() => rmSync(incomplete, { force: true }));
  console.log(`  ✓ dependencies           ${seconds()}`);
}

function tryTo(work) {
  try {
    work();
  } catch {
    // the sentence that follows says what is wrong
  }
}

/** Runs a program under the modern Node: same terminal, same signals, same exit code. */
function handOver(words) {
  const binaries = join(checkout, 'node_modules', '.bin');
  const node = spawn(modernNode, words, {
    cwd: checkout,
    stdio: 'inherit',
    env: { ...process.env, PATH: `${binaries}:${process.env.PATH ?? ''}` },
  });
  // The terminal sends Ctrl-C to both; the program takes what follows closely for the same press.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => node.kill(signal));
  if (process.env.npm_lifecycle_event !== undefined) endWithShell(() => node.kill('SIGTERM'));
  node.once('error', (error) =>
    giveUp(`${modernNode} does not work: ${error.message}. Remove node_modules, then start again.`),
  );
  node.once('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

/** npm passes signals to the shell between it and us, and some shells die of them without a word to us. */
function endWithShell(end) {
  const shell = process.ppid;
  const watching = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watching);
    end();
  }, 250);
}

const [word, ...words] = process.argv.slice(2);
if (Number(process.versions.node.split('.')[0]) < 20) {
  giveUp(`Node.js 20 or newer is required (https://nodejs.org). This is ${process.versions.node}.`);
}
if (!Object.hasOwn(PROGRAMS, word ?? ''))
  giveUp(`Usage: node dev/run.mjs <command>. Commands: ${Object.keys(PROGRAMS).join(', ')}.`);
if (wantsInstall()) await installAlone();
const [program, ...before] = PROGRAMS[word];
handOver([join(checkout, program), ...before, ...words]);
