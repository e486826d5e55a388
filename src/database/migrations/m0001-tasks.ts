import { Migration } from '@mikro-orm/migrations';

/** Workspaces, people, keys, and everything of tasks. */
export class M0001Tasks extends Migration {
  override up(): void {
    this.addSql(`
      create table workspaces (
        id uuid primary key,
        name text not null,
        created_at timestamptz(3) not null
      );
      create table projects (
        id uuid primary key,
        workspace_id uuid not null references workspaces on delete cascade,
        key text not null,
        name text not null,
        created_at timestamptz(3) not null,
        unique (workspace_id, key)
      );
      create table users (
        id uuid primary key,
        email text not null unique,
        name text not null,
        password_hash text,
        created_at timestamptz(3) not null
      );
      create table members (
        workspace_id uuid not null references workspaces on delete cascade,
        user_id uuid not null references users on delete cascade,
        role text not null check (role in ('viewer', 'member', 'admin', 'owner')),
        created_at timestamptz(3) not null,
        primary key (workspace_id, user_id)
      );
      create table sessions (
        id uuid primary key,
        user_id uuid not null references users on delete cascade,
        token_hash text not null unique,
        user_agent text,
        address text,
        created_at timestamptz(3) not null,
        last_seen_at timestamptz(3) not null,
        expires_at timestamptz(3) not null
      );
      create index sessions_by_user on sessions (user_id);
      create table api_keys (
        id uuid primary key,
        workspace_id uuid not null references workspaces on delete cascade,
        project_id uuid not null references projects on delete cascade,
        name text not null,
        prefix text not null,
        key_hash text not null unique,
        scopes text[] not null,
        created_by text not null,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3),
        last_used_at timestamptz(3),
        revoked_at timestamptz(3),
        replaced_by uuid
      );
      create index api_keys_by_workspace on api_keys (workspace_id, id);

      create table task_runs (
        id uuid primary key,
        workspace_id uuid not null references workspaces on delete cascade,
        project_id uuid not null references projects on delete cascade,
        created_by text not null,
        title text not null,
        description text,
        task_type text not null check (task_type in ('feature', 'bug', 'spec', 'chore')),
        metadata json not null default '{}',
        callback_url text,
        callback_secret text not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        state text not null default 'initializing' check (state in
          ('initializing', 'planning', 'executing', 'paused', 'completed', 'failed', 'cancelled', 'escalated')),
        paused_from text check (paused_from in ('initializing', 'planning', 'executing')),
        steps json not null default '[]',
        started_at timestamptz(3),
        paused_at timestamptz(3),
        paused_by text,
        paused_ms bigint not null default 0,
        completed_at timestamptz(3),
        duration_ms bigint,
        output json,
        errors json not null default '[]',
        escalation json,
        last_seq integer not null default 0,
        view_seq integer not null default 0,
        engine_paused_at timestamptz(3),
        engine_pause_signalled boolean not null default false,
        callback_status text not null default 'none'
          check (callback_status in ('none', 'pending', 'delivered', 'failed')),
        callback_body text,
        check ((state = 'paused') = (paused_from is not null)),
        check ((completed_at is not null) = (state in ('completed', 'failed', 'cancelled', 'escalated')))
      );
      -- Lists are newest first, and ids are made in time order.
      create index task_runs_by_project on task_runs (project_id, id desc);
      create index task_runs_by_metadata on task_runs using gin ((metadata::jsonb) jsonb_path_ops);
      -- What the reconciler looks at every second: few rows, however many have ended.
      create index task_runs_under_way on task_runs (created_at) where completed_at is null;
      create index task_runs_by_end on task_runs (completed_at) where completed_at is not null;
      create index task_runs_callback_pending on task_runs (completed_at) where callback_status = 'pending';

      create table task_events (
        execution_id uuid not null references task_runs on delete cascade,
        seq integer not null,
        key text not null,
        type text not null,
        at timestamptz(3) not null,
        data json not null,
        primary key (execution_id, seq),
        unique (execution_id, key)
      );

      create table workflow_webhook_deliveries (
        id uuid primary key,
        execution_id uuid not null references task_runs on delete cascade,
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
        unique (execution_id, attempt)
      );

      create table idempotency_keys (
        project_id uuid not null references projects on delete cascade,
        key text not null,
        request_hash text not null,
        answer text,
        created_at timestamptz(3) not null,
        primary key (project_id, key)
      );
      create index idempotency_keys_by_age on idempotency_keys (created_at);

      create table audit_log (
        id uuid primary key,
        workspace_id uuid not null references workspaces on delete cascade,
        actor text not null,
        action text not null,
        subject text not null,
        detail jsonb not null default '{}',
        at timestamptz(3) not null
      );
      create index audit_log_by_workspace on audit_log (workspace_id, id desc);
    `);
  }
}
