import { Migration } from '@mikro-orm/migrations';

/** Lists the open runs of a project, newest first, without reading those that have ended. */
export class M0025OpenRuns extends Migration {
  override up(): void {
    this.addSql(`
      create index if not exists task_runs_open on task_runs (project_id, id desc) where completed_at is null
    `);
  }
}
