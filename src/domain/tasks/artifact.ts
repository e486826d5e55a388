import { MAX_ARTIFACT_BYTES, MAX_ARTIFACT_NAME_LENGTH } from '../common/limits.ts';

/** A document of a step, without its content. `size` in bytes. */
export type ArtifactInfo = { name: string; media_type: string; size: number };

/** A document in the output of a run. */
export type RunArtifact = ArtifactInfo & { step: string; agent: string };

const NAME = /^[\p{L}\p{N}_][\p{L}\p{N} ._()+-]*$/u;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A document that an agent wants to save. `content` is text, or base64 of any bytes. */
export type ArtifactDraft = {
  name: string;
  media_type: string;
  content: string;
  encoding: 'text' | 'base64';
};

/**
 * Parses a document that an agent wants to save. A name is a file name without a path, of letters, digits, spaces and
 * ._()+-, and begins with a letter, a digit or _. A type is a bare media type (RFC 6838, section 4.2). Returns an error
 * message if something is wrong.
 */
export function readArtifact(input: unknown): ArtifactDraft | { error: string } {
  const { name, media_type, content, encoding = 'text' } = (input ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string' || !isFileName(name)) {
    return {
      error: `name must be a file name without a path: letters, digits, spaces and ._()+-, at most ${MAX_ARTIFACT_NAME_LENGTH} characters`,
    };
  }
  const type = typeof media_type === 'string' ? media_type.trim().toLowerCase() : '';
  if (!MEDIA_TYPE.test(type)) return { error: 'media_type must be a media type, for example text/markdown' };
  if (typeof content !== 'string') return { error: 'content must be a string' };
  if (encoding !== 'text' && encoding !== 'base64') return { error: 'encoding must be text or base64' };
  if (encoding === 'base64' && !BASE64.test(content)) return { error: 'content is not valid base64' };
  return { name, media_type: type, content, encoding };
}

/** Returns why a document of this size cannot be saved, or null if it can. */
export function artifactSizeFault(bytes: number): string | null {
  return bytes <= MAX_ARTIFACT_BYTES
    ? null
    : `the document has ${bytes} bytes; the limit is ${MAX_ARTIFACT_BYTES} bytes`;
}

function isFileName(name: string): boolean {
  return name.length <= MAX_ARTIFACT_NAME_LENGTH && NAME.test(name) && !/[ .]$/.test(name);
}
