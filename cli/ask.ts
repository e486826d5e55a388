import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { EXIT, usageError } from './exit-codes.ts';
import { withoutBom } from './files.ts';
import type { Io } from './io.ts';

/** Asks the user for a line. Without a terminal this is a usage error. `secret` hides the input. */
export async function ask(
  { stdin, stderr }: Io,
  question: string,
  { secret = false, instead }: { secret?: boolean; instead: string },
): Promise<string> {
  if (!stdin.isTTY) throw usageError(`No terminal to prompt in. Use ${instead}`);
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({
    input: stdin,
    output: secret ? hidden : stderr,
    terminal: true,
  });
  lines.on('SIGINT', () => process.exit(EXIT.interrupted));
  // Only now, after echo is off.
  if (secret) stderr.write(question);
  const answer = await lines.question(secret ? '' : question);
  lines.close();
  if (secret) stderr.write('\n');
  return answer;
}

/** Returns all of stdin as text, without a byte order mark and the last line end. */
export async function readStdin({ stdin }: Io): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  return withoutBom(Buffer.concat(chunks).toString()).replace(/\r?\n$/, '');
}

/** Returns the text of a file without a byte order mark; `-` is stdin. */
export async function contentOf(path: string, io: Io): Promise<string> {
  if (path === '-') return await readStdin(io);
  try {
    return withoutBom(readFileSync(path, 'utf8'));
  } catch {
    throw usageError(`Cannot read ${path}`);
  }
}

/** Returns a secret from a file, without the last line end. `-` is stdin; in a terminal the user is asked. */
export async function readSecret(path: string, io: Io): Promise<string> {
  const secret =
    path === '-' && io.stdin.isTTY
      ? await ask(io, 'Secret: ', { secret: true, instead: '--secret-file' })
      : (await contentOf(path, io)).replace(/\r?\n$/, '');
  if (secret === '') throw usageError('The secret is empty');
  return secret;
}

/** Returns a password: from stdin if requested, otherwise asked in the terminal. */
export async function readPassword(
  fromStdin: boolean | undefined,
  question: string,
  io: Io,
): Promise<string> {
  const password = fromStdin
    ? await readStdin(io)
    : await ask(io, question, { secret: true, instead: '--password-stdin' });
  if (password === '') throw usageError('The password is empty');
  return password;
}
