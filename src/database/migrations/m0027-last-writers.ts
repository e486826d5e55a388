import { Migration } from '@mikro-orm/migrations';

/** Remembers the workflow task that wrote a run last, so that a worker with an outdated one cannot write after it. */
export class M0027LastWriters extends Migration {
  override up(): void {
    this.addSql('alter table task_runs add column last_writer json');
  }
}
