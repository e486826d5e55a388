import { Migration } from '@mikro-orm/migrations';

/**
 * An attempt is written in the same statement as its delivery or with a lock on it, and both are removed together. A foreign key
 * locked the delivery once more for each attempt.
 */
export class M0038AttemptsWithoutForeignKey extends Migration {
  override up(): void {
    this.addSql('alter table delivery_attempts drop constraint if exists delivery_attempts_delivery_id_fkey');
  }
}
