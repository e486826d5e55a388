#!/usr/bin/env node
// Plain JavaScript, so that any Node can run it. The command line needs a Node that runs TypeScript directly. An older
// Node starts the one installed with the packages.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const OLDEST = 24;
const main = new URL('./main.ts', import.meta.url);
const modernNode = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));

if (Number.parseInt(process.versions.node, 10) >= OLDEST) {
  await import(main.href);
} else if (existsSync(modernNode)) {
  handOver();
} else {
  console.error(
    `baton requires Node ${OLDEST} or newer (this is ${process.versions.node}). In a checkout, \`npm start\` or \`npm ci\` installs one.`,
  );
  process.exitCode = 2;
}

function handOver() {
  const child = spawn(modernNode, [fileURLToPath(main), ...process.argv.slice(2)], { stdio: 'inherit' });
  // The child handles the signal. The terminal sends Ctrl-C to both processes, and receiving it twice is harmless.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`baton could not start: ${error.message}`);
    process.exitCode = 2;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
  });
}
