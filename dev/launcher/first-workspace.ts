import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { z } from 'zod';
import { AlreadyInstalled, setUpInstallation, type Installation } from '../../src/runtime/installation.ts';
import { hashOfSecret, newApiKey } from '../../src/security/keys.ts';
import { newPassword } from '../../src/security/passwords.ts';
import { withClient } from '../services/postgres.ts';
import { readPrivate, writePrivate } from '../common/private-file.ts';

const installationSchema = z.object({
  workspace_id: z.uuid(),
  project_id: z.uuid(),
  api_key: z.string(),
  admin_email: z.string(),
  admin_password: z.string(),
});
const pendingSchema = installationSchema.pick({ api_key: true, admin_email: true, admin_password: true });

const ADMIN_EMAIL = 'admin@baton.local';

/** The workspace of this checkout, and whether it was just created. */
export type FirstWorkspace = { installation: Installation; isNew: boolean };

/**
 * Returns the file with the credentials for a database: `installation.json` for the embedded one, and a separate file
 * for each other one, so that a checkout can switch between databases.
 */
export function installationFile(folder: string, outsideUrl: string | null): string {
  if (outsideUrl === null) return `${folder}/installation.json`;
  const { hostname, port, pathname } = new URL(outsideUrl);
  const which = createHash('sha256')
    .update(`${hostname}:${port || 5432}${pathname}`)
    .digest('hex');
  return `${folder}/installation-${which.slice(0, 8)}.json`;
}

/**
 * Creates the first workspace in a migrated database, or returns the stored one. Key and password are stored before they
 * are used, so that a crash loses neither.
 * @returns null if the workspace was created elsewhere, so that its credentials are unknown
 */
export async function ensureFirstWorkspace(
  databaseUrl: string,
  file: string,
): Promise<FirstWorkspace | null> {
  const known = readPrivate(file, (content) => installationSchema.parse(content));
  if (known !== null && (await hasWorkspace(databaseUrl, known.workspace_id))) {
    return { installation: known, isNew: false };
  }
  const pendingFile = `${file}.pending`;
  const earlier = readPrivate(pendingFile, (content) => pendingSchema.parse(content));
  const pending = earlier ?? {
    api_key: newApiKey().key,
    admin_email: ADMIN_EMAIL,
    admin_password: newPassword(),
  };
  writePrivate(pendingFile, pending);
  const installation = await install(databaseUrl, pending);
  if (installation !== null) writePrivate(file, installation);
  rmSync(pendingFile, { force: true });
  return installation === null ? null : { installation, isNew: true };
}

async function install(
  databaseUrl: string,
  pending: z.infer<typeof pendingSchema>,
): Promise<Installation | null> {
  try {
    return await setUpInstallation(databaseUrl, {
      workspaceName: 'My workspace',
      projectName: 'First project',
      adminEmail: pending.admin_email,
      adminName: 'Admin',
      adminPassword: pending.admin_password,
      apiKey: pending.api_key,
    });
  } catch (error) {
    if (!(error instanceof AlreadyInstalled)) throw error;
    // An earlier start may have been killed after its commit and before it stored the result.
    return await installationOf(databaseUrl, pending);
  }
}

function hasWorkspace(databaseUrl: string, id: string): Promise<boolean> {
  return withClient(databaseUrl, async (client) => {
    const found = await client.query('select 1 from workspaces where id = $1', [id]);
    return found.rowCount === 1;
  });
}

/** Returns the installation that a key belongs to; null if the database does not know the key. */
function installationOf(
  databaseUrl: string,
  pending: z.infer<typeof pendingSchema>,
): Promise<Installation | null> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ workspace_id: string; project_id: string }>(
      'select workspace_id, project_id from api_keys where key_hash = $1',
      [hashOfSecret(pending.api_key)],
    );
    return rows[0] === undefined ? null : { ...rows[0], ...pending };
  });
}
