import { Migration } from '@mikro-orm/migrations';

/**
 * Manual retries of deliveries that were requested for now, and the request that an attempt was made for. Attempts of the
 * previous version have no token.
 */
export class M0020ManualRetries extends Migration {
  override up(): void {
    this.addSql(`
      create table manual_retries (
        delivery_id uuid not null references deliveries on delete cascade,
        token uuid not null unique,
        webhook_id uuid not null,
        seq bigint generated always as identity,
        attempts integer not null,
        requested_at timestamptz(3) not null default clock_timestamp(),
        ended_at timestamptz(3),
        primary key (delivery_id, token)
      );
      create index manual_retries_waiting on manual_retries (webhook_id, seq) where ended_at is null;
      alter table delivery_attempts add column token uuid;
    `);
  }
}
