/** How the examples find the service. */
import { existsSync, readFileSync } from 'node:fs';
import { createBaton } from 'baton/client';

/** The folder in which a service of `npm start` or `npx baton start` keeps its credentials and its certificate. */
export const folder = ['.local', '.baton'].find((one) => existsSync(`${one}/credentials.json`)) ?? '.local';

const local = existsSync(`${folder}/credentials.json`)
  ? JSON.parse(readFileSync(`${folder}/credentials.json`, 'utf8'))
  : {};

/** The project of the tasks: BATON_PROJECT, or that of the local service. */
export const project: string = process.env['BATON_PROJECT'] ?? local.project_id ?? '';

/** The client: BATON_URL and BATON_API_KEY, or the local service. */
export const baton = createBaton({
  baseUrl: process.env['BATON_URL'] ?? local.base_url ?? 'http://localhost:3000',
  apiKey: process.env['BATON_API_KEY'] ?? local.api_key ?? '',
});
