import { Migration } from '@mikro-orm/migrations';

/** Webhooks, events, deliveries with their attempts, notifications. */
export class M0003Webhooks extends Migration {
  override up(): void {
    this.addSql(`
      create table webhooks (
        id uuid primary key,
        workspace_id uuid not null references workspaces on delete cascade,
        name text not null,
        url text not null,
        events json not null,
        secret text,
        previous_secret text,
        previous_secret_until timestamptz(3),
        include_secret_header boolean not null default false,
        standard_webhooks boolean not null default false,
        active boolean not null default true,
        consecutive_failures integer not null default 0,
        disabled_at timestamptz(3),
        disabled_reason text,
        created_by text not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        deleted_at timestamptz(3)
      );
      create index webhooks_by_workspace on webhooks (workspace_id, id) where deleted_at is null;

      -- A group of events that came in together and is dispatched by one workflow.
      create table event_groups (
        id uuid primary key,
        created_at timestamptz(3) not null,
        started_at timestamptz(3),
        done_at timestamptz(3)
      );
      create index event_groups_open on event_groups (created_at) where done_at is null;

      create table events (
        seq bigint generated always as identity primary key,
        workspace_id uuid not null references workspaces on delete cascade,
        id text not null,
        group_id uuid,
        event text not null,
        "timestamp" timestamptz(3) not null,
        content_hash bytea not null,
        body text,
        words text not null default '',
        search tsvector generated always as (to_tsvector('simple', words)) stored,
        test boolean not null default false,
        received_at timestamptz(3) not null,
        unique (workspace_id, id)
      );
      create index events_by_group on events (group_id);
      create index events_by_time on events (workspace_id, seq desc);
      create index events_by_words on events using gin (search);
      create index events_by_age on events using brin (received_at);

      create table deliveries (
        id uuid primary key,
        workspace_id uuid not null references workspaces on delete cascade,
        webhook_id uuid not null references webhooks on delete cascade,
        event_seq bigint not null,
        event_id text not null,
        event text not null,
        status text not null check (status in
          ('pending', 'succeeded', 'retrying', 'failed', 'held', 'cancelled', 'skipped')),
        test boolean not null default false,
        reason text,
        generation integer not null default 0,
        in_backlog boolean not null default false,
        failures integer not null default 0,
        attempts_count integer not null default 0,
        response_status integer,
        failure text,
        response_ms integer,
        next_attempt_at timestamptz(3),
        retry_started boolean not null default false,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null
      );
      create index deliveries_by_webhook on deliveries (webhook_id, id desc);
      create index deliveries_by_status on deliveries (webhook_id, status, id desc)
        where status <> 'succeeded';
      create index deliveries_by_kind on deliveries (webhook_id, event, id desc);
      create index deliveries_by_event on deliveries (event_seq);
      create index deliveries_in_backlog on deliveries (webhook_id, event_seq) where in_backlog;
      create index deliveries_due on deliveries (next_attempt_at) where status = 'retrying' and not retry_started;
      create index deliveries_renewed on deliveries (webhook_id, updated_at) where generation > 0;
      create index deliveries_by_age on deliveries using brin (created_at);

      create table delivery_attempts (
        delivery_id uuid not null references deliveries on delete cascade,
        number integer not null,
        "trigger" text not null check ("trigger" in ('automatic', 'manual', 'test')),
        attempted_at timestamptz(3) not null,
        url text not null,
        request_headers json not null,
        response_status integer,
        response_headers json,
        response_body text,
        response_truncated boolean,
        failure text,
        message text,
        address text,
        timings json not null,
        response_ms integer,
        primary key (delivery_id, number)
      );
      create index delivery_attempts_by_hand on delivery_attempts (attempted_at) where "trigger" = 'manual';

      create table notifications (
        id uuid primary key,
        workspace_id uuid not null references workspaces on delete cascade,
        user_id uuid not null references users on delete cascade,
        kind text not null,
        subject text not null,
        detail json not null default '{}',
        created_at timestamptz(3) not null,
        read_at timestamptz(3),
        emailed_at timestamptz(3),
        unique (user_id, kind, subject, created_at)
      );
      create index notifications_by_user on notifications (user_id, id desc);
    `);
  }
}
