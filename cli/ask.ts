import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { EXIT, usageError } from './exit-codes.ts';

/** Asks a person for a line; usage error where nobody is there to answer. `secret` hides what is typed. */
export async function ask(
  question: string,
  { secret = false, instead }: { secret?: boolean; instead: string },
): Promise<string> {
  if (!process.stdin.isTTY) throw usageError(`There is no terminal to ask in: give ${instead}`);
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({
    input: process.stdin,
    output: secret ? hidden : process.stderr,
    terminal: true,
  });
  lines.on('SIGINT', () => process.exit(EXIT.interrupted));
  // Only now, when what is typed is not shown any more.
  if (secret) process.stderr.write(question);
  const answer = await lines.question(secret ? '' : question);
  lines.close();
  if (secret) process.stderr.write('\n');
  return answer;
}

/** All of stdin as text, without the line end at its end. */
export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks)
    .toString()
    .replace(/\r?\n$/, '');
}

/** What a file holds as text; `-` is stdin. */
export async function contentOf(path: string): Promise<string> {
  if (path === '-') return await readStdin();
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw usageError(`${path} cannot be read`);
  }
}

/** A secret out of a file without the line end at its end; `-` is stdin, where a person is asked. */
export async function readSecret(path: string): Promise<string> {
  const secret =
    path === '-' && process.stdin.isTTY
      ? await ask('Secret: ', { secret: true, instead: '--secret-file' })
      : (await contentOf(path)).replace(/\r?\n$/, '');
  if (secret === '') throw usageError('The secret is empty');
  return secret;
}

/** A password: from stdin where that was asked for, else typed by a person. */
export async function readPassword(fromStdin: boolean | undefined, question: string): Promise<string> {
  const password = fromStdin
    ? await readStdin()
    : await ask(question, { secret: true, instead: '--password-stdin' });
  if (password === '') throw usageError('The password is empty');
  return password;
}
