import { Migration } from '@mikro-orm/migrations';

/** Notifies listeners of every session that ends, and of every person who leaves a workspace or gets another role. */
export class M0015EndedCredentials extends Migration {
  override up(): void {
    this.addSql(`
      create function tell_of_session() returns trigger language plpgsql as $$
      begin
        perform pg_notify('baton_keys', old.id::text);
        return null;
      end
      $$;
      create trigger sessions_tell after update of id or delete on sessions
        for each row execute function tell_of_session();
      create function tell_of_member() returns trigger language plpgsql as $$
      begin
        perform pg_notify('baton_keys', old.user_id::text);
        return null;
      end
      $$;
      create trigger members_tell after update of role or delete on members
        for each row execute function tell_of_member();
    `);
  }
}
