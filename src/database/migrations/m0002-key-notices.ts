import { Migration } from '@mikro-orm/migrations';

/** Tells listeners of every key that may be used otherwise than before, whoever changed it. */
export class M0002KeyNotices extends Migration {
  override up(): void {
    this.addSql(`
      create function tell_of_key() returns trigger language plpgsql as $$
      begin
        perform pg_notify('baton_keys', old.id::text);
        return null;
      end
      $$;
      create trigger api_keys_tell
        after update of project_id, scopes, key_hash, expires_at, revoked_at or delete on api_keys
        for each row execute function tell_of_key();
    `);
  }
}
