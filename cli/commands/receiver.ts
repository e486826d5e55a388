import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { callbackSecretOf } from '../callback-secrets.ts';
import { outputOf } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit-codes.ts';
import { type Io, ioOf } from '../io.ts';
import { localFolder } from '../local-service.ts';
import { describeCallback, startReceiver } from '../receiver.ts';

type Options = { port: string; host: string; cert?: string; key?: string; http?: true; secret?: string[] };

/** How long to wait for the secret of a run that is being submitted, in milliseconds. */
const SECRET_WAIT_MS = 1_000;
const LOCAL_CERT = join(localFolder(process.env), 'tls', 'localhost.pem');
const LOCAL_KEY = join(localFolder(process.env), 'tls', 'localhost-key.pem');

/** `baton receiver` */
export function addReceiverCommand(program: Command): void {
  program
    .command('receiver')
    .description('Receive callbacks and deliveries over HTTPS, verify their signatures and print them')
    .option('--port <n>', 'port to listen on, 0 for any free port', '8443')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option(
      '--cert <path>',
      "certificate chain (PEM); default: the local service's certificate for localhost",
    )
    .option('--key <path>', 'private key of the certificate (PEM)')
    .option('--http', 'use plain HTTP, behind a proxy that terminates HTTPS')
    .option(
      '--secret <secret...>',
      'secrets of webhooks (or BATON_WEBHOOK_SECRET) and callbacks; secrets of tasks submitted here with `baton` are known',
    )
    .action(async (options: Options, command: Command) => {
      const output = outputOf(command);
      const io = ioOf(command);
      output.endWithoutReader();
      const receiver = await startReceiver({
        host: options.host,
        port: portOf(options.port),
        ...(options.http ? {} : certificateOf(options)),
        secrets: [...(options.secret ?? []), io.env.BATON_WEBHOOK_SECRET ?? ''].filter(Boolean),
        secretFor: (executionId) => secretFor(executionId, io),
        onCallback(callback) {
          output.line(describeCallback(callback));
          output.jsonLine(callback);
        },
      }).catch((error: unknown) => Promise.reject(cannotStart(error, options)));
      output.note(`Receiving callbacks and deliveries at ${receiver.url}/ (Ctrl-C to stop)`);
      const ended = io.abortedBy(['SIGTERM']);
      if (!ended.aborted) await once(ended, 'abort');
      await receiver.close();
    });
}

async function secretFor(executionId: string, { env }: Io): Promise<string | undefined> {
  const until = Date.now() + SECRET_WAIT_MS;
  for (;;) {
    const secret = callbackSecretOf(env, executionId);
    if (secret !== undefined || Date.now() >= until) return secret;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function certificateOf({ cert, key }: Options): { cert: string; key: string } {
  if ((cert === undefined) !== (key === undefined)) throw usageError('Use --cert and --key together');
  const paths = { cert: cert ?? LOCAL_CERT, key: key ?? LOCAL_KEY };
  if (cert === undefined && !existsSync(paths.cert)) {
    throw usageError('No certificate. Use --cert and --key, or --http, or start the local service once');
  }
  return { cert: pemIn(paths.cert), key: pemIn(paths.key) };
}

function pemIn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw usageError(`Cannot read ${path}`);
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw usageError('--port must be a number up to 65535');
  return port;
}

function cannotStart(error: unknown, { host, port }: Options): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE')
    return new CliError(EXIT.usage, `Port ${port} is already in use. Choose another with --port`);
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new CliError(EXIT.usage, `Cannot listen on ${host}:${port} (${code})`);
  }
  if (typeof code === 'string' && code.startsWith('ERR_OSSL')) {
    return new CliError(EXIT.usage, 'The certificate or its key is not valid');
  }
  return error;
}
