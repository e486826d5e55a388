import { Migration } from '@mikro-orm/migrations';

/** What agents with models leave behind: their calls, their artefacts; and runs that take up others. */
export class M0008Agents extends Migration {
  override up(): void {
    this.addSql(`
      -- The plan as it was made, so that a later run can take it up; the run that this one takes up, and from where.
      alter table task_runs add column plan json;
      alter table task_runs add column rerun_of uuid references task_runs on delete set null;
      alter table task_runs add column rerun_from text;
      -- What an agent asks a person, while the run is paused for the answer.
      alter table task_runs add column question json;
      create index task_runs_by_rerun on task_runs (rerun_of) where rerun_of is not null;

      -- Calls of models and tools, as they ended; a call that is repeated after a crash has the same number.
      create table agent_calls (
        execution_id uuid not null references task_runs on delete cascade,
        step_id uuid not null,
        attempt integer not null,
        number integer not null,
        kind text not null check (kind in ('model', 'tool')),
        name text not null,
        input json,
        output json,
        truncated boolean not null default false,
        input_tokens integer,
        output_tokens integer,
        cost_usd double precision,
        failure text,
        started_at timestamptz(3) not null,
        duration_ms integer not null,
        primary key (execution_id, step_id, attempt, number)
      );

      create table artifacts (
        execution_id uuid not null references task_runs on delete cascade,
        name text not null,
        step_id uuid not null,
        agent text not null,
        media_type text not null,
        content bytea not null,
        size integer not null,
        sha256 text not null,
        created_at timestamptz(3) not null,
        primary key (execution_id, name)
      );
    `);
  }
}
