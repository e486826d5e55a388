import { z } from 'zod';
import { migrate } from '../../src/database/migrate.ts';
import { MAX_WORKSPACE_NAME_LENGTH } from '../../src/domain/common/limits.ts';
import { text } from '../../src/domain/common/schema-parts.ts';
import { problemsIn } from '../../src/domain/common/validation.ts';
import { email, newPassword, personName } from '../../src/domain/people/person-fields.ts';
import { projectPlan } from '../../src/domain/people/project-plan.ts';
import {
  setUpInstallation,
  type Installation,
  type InstallationPlan,
} from '../../src/runtime/installation.ts';
import { usageError } from '../exit-codes.ts';

/** The options of `baton admin setup`, with the limits of the API. Problems name the option. */
const setupOptions = z.object({
  '--workspace': text({ least: 1, most: MAX_WORKSPACE_NAME_LENGTH }),
  '--project': projectPlan.shape.name,
  '--project-key': projectPlan.shape.key,
  '--email': email,
  '--name': personName.optional(),
  '--password-stdin': newPassword.optional(),
});
type SetupOptions = z.input<typeof setupOptions>;

/** Returns what to install. @throws CliError (exit code 2) that names each invalid option */
export function installationPlan(options: SetupOptions): InstallationPlan {
  const { data, error } = setupOptions.safeParse(options);
  if (data === undefined)
    throw usageError(
      problemsIn(error, options, 'body')
        .map(({ message }) => message)
        .join('\n'),
    );
  return {
    workspaceName: data['--workspace'],
    projectName: data['--project'],
    adminEmail: data['--email'],
    ...(data['--project-key'] === undefined ? {} : { projectKey: data['--project-key'] }),
    ...(data['--name'] === undefined ? {} : { adminName: data['--name'] }),
    ...(data['--password-stdin'] === undefined ? {} : { adminPassword: data['--password-stdin'] }),
  };
}

/** Migrates the database and creates the first workspace. @throws AlreadyInstalled, or the driver's error */
export async function install(databaseUrl: string, plan: InstallationPlan): Promise<Installation> {
  await migrate(databaseUrl);
  return await setUpInstallation(databaseUrl, plan);
}
