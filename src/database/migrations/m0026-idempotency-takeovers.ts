import { Migration } from '@mikro-orm/migrations';

/** When a repeated request last replaced an interrupted one. So only one of several simultaneous repeats replaces it. */
export class M0026IdempotencyTakeovers extends Migration {
  override up(): void {
    this.addSql('alter table idempotency_keys add column taken_at timestamptz(3)');
  }
}
