import { Migration } from '@mikro-orm/migrations';

/** What the live channel needs: when events were written, and deliveries that are handed to a listener. */
export class M0005Channel extends Migration {
  override up(): void {
    this.addSql(`
      -- For the lag from write to send; \`at\` is the time of what the event tells.
      alter table task_events add column written_at timestamptz(3) not null default clock_timestamp();

      -- Not null for a webhook whose deliveries go to somebody who listens on the channel: until when they surely do.
      alter table webhooks add column listening_until timestamptz(3);
      create index webhooks_listening on webhooks (listening_until)
        where listening_until is not null and deleted_at is null;

      -- A request on its way to a listener, with the answer when it is back; gone when the sender has read it.
      create table relayed_requests (
        id uuid primary key,
        webhook_id uuid not null references webhooks on delete cascade,
        request json not null,
        created_at timestamptz(3) not null default clock_timestamp(),
        taken_at timestamptz(3),
        answer json
      );
      create index relayed_requests_waiting on relayed_requests (webhook_id, created_at) where taken_at is null;
    `);
  }
}
