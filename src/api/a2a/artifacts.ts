import type { Artifact } from '@a2a-js/sdk';
import { partOf } from '../../agents/a2a-updates.ts';
import { findArtifact, listArtifacts, type ArtifactRow } from '../../database/tasks/artifacts.ts';
import type { TaskRunRow } from '../../database/tasks/task-runs.ts';
import { MAX_A2A_INLINE_BYTES } from '../../domain/common/limits.ts';
import type { Dependencies } from '../dependencies.ts';
import { presentArtifact } from '../tasks/artifacts.ts';

const TEXT = /^text\/|^application\/(json|yaml|xml)$|\+(json|yaml|xml)$/;

/** A document with the hash of its content, by which changed documents are found. */
export type KnownArtifact = { artifact: Artifact; sha256: string };

/** Returns the documents of a run as artifacts, without those whose `known` hash is the same. */
export async function artifactsOf(
  deps: Pick<Dependencies, 'database' | 'baseUrl'>,
  run: TaskRunRow,
  known: ReadonlyMap<string, string> = new Map(),
): Promise<KnownArtifact[]> {
  const rows = await listArtifacts(deps.database, run.id);
  const fresh = rows.filter(({ name, sha256 }) => known.get(name) !== sha256);
  return await Promise.all(
    fresh.map(async (row) => ({ artifact: await artifactOf(deps, run, row), sha256: row.sha256 })),
  );
}

async function artifactOf(
  { database, baseUrl }: Pick<Dependencies, 'database' | 'baseUrl'>,
  run: TaskRunRow,
  row: ArtifactRow,
): Promise<Artifact> {
  const { url, step, agent, size, sha256, created_at } = presentArtifact(row, run, baseUrl);
  const { name, media_type: type } = row;
  const isInline = TEXT.test(type) && size <= MAX_A2A_INLINE_BYTES;
  const found = isInline ? await findArtifact(database, run.id, name) : null;
  const content = found
    ? { $case: 'text' as const, value: found.content.toString('utf8') }
    : { $case: 'url' as const, value: url };
  return {
    artifactId: name,
    name,
    description: '',
    parts: [partOf(content, type, name)],
    metadata: { step, agent, size, sha256, createdAt: created_at, url },
    extensions: [],
  };
}
