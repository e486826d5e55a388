import { sql } from 'kysely';
import { runPrepared } from '../common/prepared.ts';
import { queryBuilderOf, type Database } from '../database.ts';

/** `user:<id>` or `key:<id>`. */
const PERSON_OR_KEY = /^(user|key):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/**
 * Returns a function that converts stored actors to labels, `user:<email>` or `key:<prefix>`. Removed actors and other
 * kinds stay unchanged.
 */
export async function readActorLabels(
  database: Database,
  actors: readonly string[],
): Promise<(actor: string) => string> {
  const known = new Set(actors);
  const idsOf = (kind: string) => [...known].flatMap((actor) => idOf(actor, kind));
  const [people, keys] = [idsOf('user'), idsOf('key')];
  if (people.length + keys.length === 0) return (actor) => actor;
  const { rows } = await runPrepared(
    database,
    sql<{ actor: string; label: string }>`
      select 'user:' || id as actor, 'user:' || email as label from users where id = any(${people}::uuid[])
      union all
      select 'key:' || id, 'key:' || prefix from api_keys where id = any(${keys}::uuid[])
    `.compile(queryBuilderOf(database)),
  );
  const labels = new Map(rows.map(({ actor, label }) => [actor, label]));
  return (actor) => labels.get(actor) ?? actor;
}

/** `user:<email>` or `key:<prefix>`, as {@link readActorLabels} returns them. */
const LABEL = /^(user|key):(.+)$/s;

/** Returns the actors of a workspace that a label stands for. An actor stands for itself. */
export async function findActors(
  database: Database,
  { workspaceId, label }: { workspaceId: string; label: string },
): Promise<string[]> {
  const [, kind, name = ''] = LABEL.exec(label) ?? [];
  if (kind === undefined) return [label];
  const { rows } = await sql<{ actor: string }>`
    select 'user:' || id as actor from users where ${kind} = 'user' and email = ${name.toLowerCase()}
    union all
    select 'key:' || id from api_keys where ${kind} = 'key' and prefix = ${name} and workspace_id = ${workspaceId}::uuid
  `.execute(queryBuilderOf(database));
  return [label, ...rows.map(({ actor }) => actor)];
}

function idOf(actor: string, kind: string): string[] {
  const [, found, id] = PERSON_OR_KEY.exec(actor) ?? [];
  return found === kind && id !== undefined ? [id] : [];
}
