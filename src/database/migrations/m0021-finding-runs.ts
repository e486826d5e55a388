import { Migration } from '@mikro-orm/migrations';

/**
 * Finding runs: by words of their title and metadata, by who submitted them, and those that wait for a person.
 *
 * `run_words` splits at ASCII punctuation, as `src/domain/tasks/run-search.ts` does: PostgreSQL's own parser makes one
 * word of an e-mail address or a path, and `-17` of the end of `A-17`. As `jsonb`, metadata has no escapes of letters.
 */
export class M0021FindingRuns extends Migration {
  override up(): void {
    this.addSql(String.raw`
      create or replace function run_words(title text, metadata json) returns tsvector
        language sql immutable parallel safe
        as $$
          select to_tsvector('simple'::regconfig, regexp_replace(
            title || ' ' || regexp_replace(metadata::jsonb::text, '\\(u[0-9a-f]{4}|.)', ' ', 'g'),
            '[!-/:-@[-${'`'}{-~]+', ' ', 'g'))
        $$;
      create index if not exists task_runs_by_words on task_runs using gin (run_words(title, metadata));
      create index if not exists task_runs_by_submitter on task_runs (created_by, id desc);
      create index if not exists task_runs_needing_people on task_runs (project_id, id desc)
        where question is not null or escalation is not null;
    `);
  }
}
