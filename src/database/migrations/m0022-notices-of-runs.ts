import { Migration } from '@mikro-orm/migrations';

/** Finds the notices of one run or webhook, to mail them, and to delete them with the run. */
export class M0022NoticesOfRuns extends Migration {
  override up(): void {
    this.addSql('create index if not exists notifications_by_subject on notifications (subject);');
  }
}
