import { Migration } from '@mikro-orm/migrations';

/**
 * Push notifications of A2A: where the updates of a run are sent, how far they are, and the log of the attempts. The log
 * stays when its configuration is deleted.
 */
export class M0019PushNotifications extends Migration {
  override up(): void {
    this.addSql(`
      create table push_configs (
        execution_id uuid not null references task_runs on delete cascade,
        id text not null,
        url text not null,
        secrets text not null,
        sent_seq integer not null,
        is_over boolean not null default false,
        claimed_until timestamptz(3),
        created_at timestamptz(3) not null,
        primary key (execution_id, id)
      );
      create index push_configs_open on push_configs (execution_id, id) where not is_over;
      create table push_attempts (
        id uuid primary key,
        execution_id uuid not null references task_runs on delete cascade,
        config_id text not null,
        seq integer not null,
        attempt integer not null,
        url text not null,
        request_headers json not null,
        request_body text not null,
        response_status integer,
        response_headers json,
        response_body text,
        failure text,
        message text,
        address text,
        duration_ms integer,
        attempted_at timestamptz(3) not null,
        completed_at timestamptz(3),
        next_attempt_at timestamptz(3),
        reconnected boolean not null default false,
        unique (execution_id, config_id, seq, attempt)
      );
    `);
  }
}
