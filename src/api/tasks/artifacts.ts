import { Readable } from 'node:stream';
import type { ArtifactRow } from '../../database/tasks/artifacts.ts';
import type { TaskRunRow } from '../../database/tasks/task-runs.ts';
import type { RouteResponse } from '../http/route.ts';
import { statusUrl } from './presenter.ts';

/**
 * Media types that a browser could execute or render as a page of this origin, whatever other headers say. They are
 * sent as plain bytes.
 */
const ACTIVE = /html|xml|script|^application\/pdf$|^multipart\/|^message\//;

/** Returns a document as an entry of a list. */
export function presentArtifact(row: ArtifactRow, run: TaskRunRow, baseUrl: string) {
  return {
    name: row.name,
    media_type: row.media_type,
    size: row.size,
    sha256: row.sha256,
    step: run.steps.find(({ id }) => id === row.step_id)?.name ?? null,
    agent: row.agent,
    created_at: row.created_at.toISOString(),
    url: `${statusUrl(baseUrl, run.id)}/artifacts/${encodeURIComponent(row.name)}`,
  };
}

/**
 * Returns a document as an attachment. An agent wrote it, possibly under the influence of untrusted input, so
 * browsers must not render it under this origin.
 */
export function download(
  name: string,
  { media_type, content }: { media_type: string; content: Buffer },
): RouteResponse {
  const type = ACTIVE.test(media_type) ? 'application/octet-stream' : media_type;
  return {
    status: 200,
    headers: {
      'Content-Type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
      'Content-Length': String(content.length),
      'Content-Disposition': dispositionOf(name),
      'Content-Security-Policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    },
    stream: Readable.from([content]),
  };
}

/** Returns the header of RFC 6266: the name in ASCII for old clients, and in UTF-8 (RFC 8187). */
function dispositionOf(name: string): string {
  const ascii = name.replaceAll(/[^ -~]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
