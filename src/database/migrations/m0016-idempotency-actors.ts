import { Migration } from '@mikro-orm/migrations';

/** The credential that used an idempotency key first. Null: any credential of the project, as in earlier versions. */
export class M0016IdempotencyActors extends Migration {
  override up(): void {
    this.addSql('alter table idempotency_keys add column actor text');
  }
}
