import { Migration } from '@mikro-orm/migrations';

/** Finds people whose password an admin has set. For existing people, the audit log tells. */
export class M0030InitialPasswords extends Migration {
  override up(): void {
    this.addSql(`
      alter table users add column initial_password_hash text;
      update users u set initial_password_hash = password_hash
      where password_hash is not null and exists (
        select from audit_log added
        where added.action = 'member.added' and added.subject = 'user:' || u.id and added.actor <> added.subject
          and not exists (
            select from audit_log changed
            where changed.action = 'person.password_changed' and changed.subject = added.subject
              and changed.at > added.at));
    `);
  }
}
