import { Migration } from '@mikro-orm/migrations';

/** Invitations into a workspace, and who people are at an OpenID provider. */
export class M0006People extends Migration {
  override up(): void {
    this.addSql(`
      create table invitations (
        id uuid primary key,
        workspace_id uuid not null references workspaces on delete cascade,
        email text not null,
        role text not null check (role in ('viewer', 'member', 'admin', 'owner')),
        token_hash text not null unique,
        invited_by uuid references users on delete set null,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3) not null,
        emailed_at timestamptz(3),
        accepted_at timestamptz(3),
        accepted_by uuid references users on delete set null,
        revoked_at timestamptz(3),
        check (accepted_at is null or revoked_at is null)
      );
      create index invitations_by_workspace on invitations (workspace_id, id desc);
      -- One open invitation for each address; a new one takes the place of the one before.
      create unique index invitations_open on invitations (email, workspace_id)
        where accepted_at is null and revoked_at is null;

      create table identities (
        issuer text not null,
        subject text not null,
        user_id uuid not null references users on delete cascade,
        created_at timestamptz(3) not null,
        primary key (issuer, subject),
        -- An address that the provider gives to somebody else must not lead to the first one's account.
        unique (user_id, issuer)
      );
    `);
  }
}
