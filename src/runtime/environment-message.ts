/** Set in the environment of a process that a launcher starts before the rest of its environment is known. */
export const ENVIRONMENT_FOLLOWS = 'BATON_ENVIRONMENT_FOLLOWS';

/** The message with the environment of such a process. */
export type EnvironmentMessage = { environment: NodeJS.ProcessEnv };

/**
 * Waits for the environment of this process and replaces its own with it, if it was started before. So it has loaded its code
 * when it begins. Exits if its launcher does.
 */
export async function receiveEnvironment(): Promise<void> {
  if (process.env[ENVIRONMENT_FOLLOWS] === undefined) return;
  const exit = () => process.exit(0);
  process.once('disconnect', exit);
  const { environment } = await new Promise<EnvironmentMessage>((resolve) => {
    process.once('message', (message) => resolve(message as EnvironmentMessage));
  });
  process.off('disconnect', exit);
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
}
