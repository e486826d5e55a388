import { Migration } from '@mikro-orm/migrations';

/** Lists the ended runs of a project in the order of their ends. */
export class M0031EndedRuns extends Migration {
  override up(): void {
    this.addSql(`
      create index if not exists task_runs_ended on task_runs (project_id, completed_at desc, id desc)
        where completed_at is not null
    `);
  }
}
