import { Migration } from '@mikro-orm/migrations';

/**
 * The manual retry of a callback that was requested and has not ended, and which attempts were manual. During the retry,
 * the callback stays `failed`, so that the previous version does not send it.
 */
export class M0017CallbackRetries extends Migration {
  override up(): void {
    this.addSql('alter table task_runs add column callback_retry_id uuid');
    this.addSql(
      'create index task_runs_callback_retry on task_runs (callback_retry_id) where callback_retry_id is not null',
    );
    this.addSql(
      `alter table workflow_webhook_deliveries add column "trigger" text not null default 'automatic'`,
    );
  }
}
