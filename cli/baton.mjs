#!/usr/bin/env node
// Plain JavaScript, so that any Node can run it. In a checkout, the command line needs a Node that runs TypeScript directly. An
// older Node starts the one installed with the packages, of the checkout or of the service that `baton start` unpacked.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const OLDEST = 24;
const isPackage = !existsSync(new URL('./main.ts', import.meta.url));
const root = fileURLToPath(new URL('..', import.meta.url));
/** The data of the local service, if this is the package. Its code is in the folder `service`. */
const data = process.env.BATON_DATA ? resolve(process.env.BATON_DATA) : resolve('.baton');
const service = isPackage ? join(data, 'service') : root;
const packagedNode = join(service, 'node_modules', 'node', 'bin', 'node');
const modern = Number.parseInt(process.versions.node, 10) >= OLDEST ? process.execPath : packagedNode;

const words = process.argv.slice(2);
const [first, second] = words;
// The commands that run code of the service. The package contains it only to unpack it.
const needsService = first === 'admin' || (first === 'agents' && second === 'check');

if (isPackage && needsService && existsSync(join(service, 'node_modules')) && existsSync(modern)) {
  run(modern, join(service, 'cli', 'baton.mjs'), { ...process.env, BATON_DATA: data });
} else if (isPackage && needsService) {
  giveUp(`\`baton ${first}\` uses the code of the service. Run \`baton start\` in this folder first.`);
} else if (modern === process.execPath) {
  await import(new URL(isPackage ? './main.js' : './main.ts', import.meta.url).href);
} else if (isPackage && first === 'start') {
  const { startService } = await import(new URL('./start-service.js', import.meta.url).href);
  process.exitCode = await startService(words.slice(1), process.env).catch((error) => giveUp(error.message));
} else if (existsSync(modern)) {
  run(modern, fileURLToPath(import.meta.url), process.env);
} else {
  const advice = isPackage
    ? '`baton start` installs one.'
    : 'In a checkout, `npm start` or `npm ci` installs one.';
  giveUp(`baton requires Node ${OLDEST} or newer (this is ${process.versions.node}). ${advice}`);
}

/** Runs the words of this command line with another Node or another program. */
function run(node, program, env) {
  const child = spawn(node, [program, ...words], { stdio: 'inherit', env });
  // The child handles the signal. The terminal sends Ctrl-C to both processes, and receiving it twice is harmless.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => giveUp(`baton could not start: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
  });
}

function giveUp(sentence) {
  console.error(sentence);
  process.exitCode = 2;
  return 2;
}
