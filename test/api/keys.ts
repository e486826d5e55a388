import type { World } from '../support/world.ts';

/** Creates an API key of the project with these scopes, as the owner. */
export async function keyWith(world: World, scopes: string[]): Promise<string> {
  const cookie = await world.signIn();
  const { json } = await world.send('POST', '/api/v1/keys', {
    ...world.as(cookie),
    body: { name: 'events', project_id: world.installation.project_id, scopes },
  });
  return json.key;
}
