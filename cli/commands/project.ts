import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { fields, table } from '../output.ts';
import type { Page } from '../shapes.ts';
import { addPaging, moreLine, type Paging } from './paging.ts';

const PROJECTS = '/api/v1/projects';

export type Project = { id: string; key: string; name: string; created_at: string };

/** `baton project …` */
export function addProjectCommands(program: Command): void {
  const project = program.command('project').description('Create and list projects');
  project
    .command('create')
    .description('Create a project (admins)')
    .requiredOption('--name <text>', 'name of the project')
    .option('--key <KEY>', 'short key in capitals; default: derived from the name')
    .action(async (options: { name: string; key?: string }, command: Command) => {
      const { apiForPeople, output } = contextOf(command);
      const made = await (await apiForPeople()).call<Project>('POST', PROJECTS, { body: options });
      output.document(made);
      output.line(
        fields([
          ['Project', made.id],
          ['Key', made.key],
          ['Name', made.name],
        ]),
      );
    });
  addPaging(project.command('list').description('List projects, newest first')).action(
    async (options: Paging, command: Command) => {
      const { apiForPeople, output } = contextOf(command);
      const page = await (await apiForPeople()).call<Page<Project>>('GET', PROJECTS, {
        query: { ...options },
      });
      output.document(page);
      const rows = page.data.map(({ id, key, name, created_at }) => [id, key, name, created_at]);
      output.line(
        (rows.length === 0 ? 'No projects' : table(['PROJECT', 'KEY', 'NAME', 'CREATED'], rows)) +
          moreLine(page),
      );
    },
  );
}
