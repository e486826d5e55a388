import type { Database } from '../../src/database/database.ts';

/** Returns a database that fails once with this code, after it has committed the first prepared statement with this text. */
export function breakingAfter(database: Database, text: string, code: string): Database {
  let isBroken = false;
  const connection = database.em.getConnection();
  const getNativeClient = async () => {
    const pool = await connection.getNativeClient();
    return {
      async connect() {
        const client = await pool.connect();
        const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
        const breaking = async (...args: [{ text?: string } | string, ...unknown[]]) => {
          const answer = await query(...args);
          const statement = typeof args[0] === 'string' ? args[0] : (args[0].text ?? '');
          if (isBroken || !statement.includes(text)) return answer;
          isBroken = true;
          throw Object.assign(new Error(code), { code });
        };
        return Object.assign(Object.create(client) as typeof client, { query: breaking });
      },
    };
  };
  const em = Object.assign(Object.create(database.em) as Database['em'], {
    getConnection: () => ({ getNativeClient }),
    fork: () => database.em.fork(),
  });
  return Object.assign(Object.create(database) as Database, { em });
}
