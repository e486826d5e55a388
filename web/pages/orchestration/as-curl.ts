/** Returns a submission as a curl command. The key comes from the environment. */
export function asCurl(origin: string, body: object): string {
  const text = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`);
  return [
    `curl ${origin}/api/v1/tasks \\`,
    `  -H "X-API-Key: $BATON_API_KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${text}'`,
  ].join('\n');
}
