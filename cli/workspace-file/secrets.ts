import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isHeaderSafe } from '../../src/domain/webhooks/webhook.ts';
import { secret as secretSchema } from '../../src/domain/webhooks/webhook-plan.ts';
import { usageError } from '../exit-codes.ts';
import { withoutBom } from '../files.ts';
import { titleOf, type Change, type SecretSource } from './change.ts';
import { sourceText } from './webhook-fields.ts';

/**
 * Returns the secrets that the changes need. `folder`: where paths of files begin.
 * @throws CliError for a secret that cannot be read or that the service would reject, without its text
 */
export function readSecrets(
  changes: readonly Change[],
  env: NodeJS.ProcessEnv,
  folder: string,
): Map<Change, string> {
  const secrets = new Map<Change, string>();
  for (const change of changes) {
    if (change.secret === undefined) continue;
    const { source, inHeader } = change.secret;
    const value = valueOf(source, env, folder);
    const problem = value === undefined ? 'cannot be read' : problemOf(value, inHeader);
    if (value === undefined || problem !== null)
      throw usageError(
        `The secret of ${titleOf(change)} ${sourceText(source)} ${problem}. Nothing was changed`,
      );
    secrets.set(change, value);
  }
  return secrets;
}

function valueOf(source: SecretSource, env: NodeJS.ProcessEnv, folder: string): string | undefined {
  switch (source.from) {
    case 'environment':
      return env[source.name];
    case 'file':
      return textOf(resolve(folder, source.path));
    case 'generated':
      return randomBytes(32).toString('hex');
  }
}

function textOf(path: string): string | undefined {
  try {
    return withoutBom(readFileSync(path, 'utf8')).replace(/\r?\n$/, '');
  } catch {
    return undefined;
  }
}

function problemOf(secret: string, inHeader: boolean): string | null {
  const [issue] = secretSchema.safeParse(secret).error?.issues ?? [];
  if (issue !== undefined) return issue.message;
  return inHeader && !isHeaderSafe(secret)
    ? 'must consist of visible ASCII characters to be sent in a header'
    : null;
}
