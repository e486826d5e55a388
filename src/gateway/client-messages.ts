import { MAX_ROOM_LENGTH } from '../domain/common/limits.ts';
import { truncate } from '../domain/common/text.ts';

/** Characters of a text of a client that a reply or the log repeats. */
const REPEATED = 50;
/** Characters of the description of an error. */
const DESCRIPTION = 200;

/** Returns whether the body of a message has fields. */
export function isObject(body: unknown): body is Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}

/** Returns the room that a message names; null if it names none, or one that is too long to exist. */
export function roomNamed(body: unknown): string | null {
  const room = isObject(body) ? body['room'] : null;
  return typeof room === 'string' && room.length <= MAX_ROOM_LENGTH ? room : null;
}

/** Returns the beginning of a text of a client, without a reference to the whole text. */
export function shortened(text: string, most = REPEATED): string {
  return text.length <= most ? text : Array.from(truncate(text, most)).join('');
}

/** Describes the first error of a message for its sender. */
export function describeError(
  type: string,
  { issues }: { issues: readonly { path: PropertyKey[]; message: string }[] },
): string {
  const [issue] = issues;
  const where = issue && issue.path.length > 0 ? `\`${issue.path.map(String).join('.')}\`: ` : '';
  return shortened(`${type}: ${where}${issue?.message ?? 'is not valid'}.`, DESCRIPTION);
}
