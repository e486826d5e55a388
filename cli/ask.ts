import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { EXIT, usageError } from './exit-codes.ts';
import type { Io } from './io.ts';

/** Asks a person for a line; usage error where nobody is there to answer. `secret` hides what is typed. */
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
  // Only now, when what is typed is not shown any more.
  if (secret) stderr.write(question);
  const answer = await lines.question(secret ? '' : question);
  lines.close();
  if (secret) stderr.write('\n');
  return answer;
}

/** All of stdin as text, without the line end at its end. */
export async function readStdin({ stdin }: Io): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks)
    .toString()
    .replace(/\r?\n$/, '');
}

/** What a file holds as text; `-` is stdin. */
export async function contentOf(path: string, io: Io): Promise<string> {
  if (path === '-') return await readStdin(io);
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw usageError(`Cannot read ${path}`);
  }
}

/** A secret out of a file without the line end at its end; `-` is stdin, where a person is asked. */
export async function readSecret(path: string, io: Io): Promise<string> {
  const secret =
    path === '-' && io.stdin.isTTY
      ? await ask(io, 'Secret: ', { secret: true, instead: '--secret-file' })
      : (await contentOf(path, io)).replace(/\r?\n$/, '');
  if (secret === '') throw usageError('The secret is empty');
  return secret;
}

/** A password: from stdin where that was asked for, else typed by a person. */
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
