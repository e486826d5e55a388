import { Migration } from '@mikro-orm/migrations';

/** What the steps of a run leave to the ones after them. */
export class M0009StepResults extends Migration {
  override up(): void {
    this.addSql(`
      create table step_results (
        execution_id uuid not null references task_runs on delete cascade,
        step text not null,
        agent text not null,
        attempt integer not null,
        -- json keeps what text can't: U+0000
        text json not null,
        written_at timestamptz(3) not null,
        primary key (execution_id, step)
      );
    `);
  }
}
