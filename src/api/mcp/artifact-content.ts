import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import type { RouteResponse } from '../http/route.ts';

/** A document as data: its text, or its bytes if it is not text. */
export const readContentSchema = z.object({
  name: z.string(),
  media_type: z.string(),
  text: z.string().nullable().describe('The document; null if it is not text'),
  base64: z.string().nullable().describe('The bytes of the document; null if it is text'),
});

/** Reads the document in a response. */
export async function readContent(
  name: string,
  { headers, stream }: RouteResponse,
): Promise<z.infer<typeof readContentSchema>> {
  const bytes = stream ? await buffer(stream) : Buffer.alloc(0);
  const [mediaType = ''] = String(headers?.['Content-Type']).split(';');
  const isText = isUtf8(bytes) && !bytes.includes(0);
  return {
    name,
    media_type: mediaType,
    text: isText ? bytes.toString('utf8') : null,
    base64: isText ? null : bytes.toString('base64'),
  };
}
