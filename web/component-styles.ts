import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

/** The virtual module that `main.tsx` imports. */
const NAME = 'virtual:component-styles';
const LIBRARY = join(dirname(fileURLToPath(import.meta.resolve('@mantine/core/styles.layer.css'))));
/** The styles that every component needs. */
const BASE_SHEETS = ['baseline', 'default-css-variables', 'global'];

/**
 * Returns a plugin that imports only the style sheets of the used components and their dependencies, in the library's
 * order. The first screen loads 15 kB less than with all style sheets.
 */
export function componentStyles(): Plugin {
  return {
    name: 'component-styles',
    resolveId: (id) => (id === NAME ? `\0${NAME}` : null),
    load(id) {
      if (id !== `\0${NAME}`) return null;
      return [...BASE_SHEETS, ...usedComponents(import.meta.dirname)]
        .map((name) => `import '@mantine/core/styles/${name}.layer.css';`)
        .join('\n');
    },
  };
}

/** Returns the names of style sheets, in the order of the library's complete style sheet. */
function usedComponents(sources: string): string[] {
  const files = filesByExport();
  const visited = new Set<string>();
  for (const name of importedNames(sources)) visit(files.get(name), visited);
  const names = new Set([...visited].map((file) => basename(file).replace(/(\.module)?\.mjs$/, '')));
  const whole = readFileSync(join(LIBRARY, 'styles.layer.css'), 'utf8');
  const sheets = [...names]
    .filter((name) => existsSync(sheetOf(name)))
    .map((name) => ({ name, at: positionOf(name, whole) }));
  return sheets.toSorted((one, other) => one.at - other.at).map(({ name }) => name);
}

function importedNames(sources: string): Set<string> {
  const texts = globSync('{app,components,forms,pages,shell}/**/*.tsx', { cwd: sources }).map((file) =>
    readFileSync(join(sources, file), 'utf8'),
  );
  const lists = texts.flatMap((text) => [...text.matchAll(/import \{([^}]+)\} from '@mantine\/core'/g)]);
  // The notifications package uses these components.
  return new Set([
    'Notification',
    'Transition',
    'Portal',
    ...lists.flatMap(([, list]) => list?.split(/[\s,]+/) ?? []),
  ]);
}

/** Returns the file of each export of the library. */
function filesByExport(): Map<string, string> {
  const index = join(LIBRARY, 'esm', 'index.mjs');
  const lines = readFileSync(index, 'utf8').matchAll(/import \{([^}]+)\} from "(\.[^"]+)"/g);
  return new Map(
    [...lines].flatMap(([, names = '', file = '']) =>
      names.split(',').map((name) => [name.trim(), join(dirname(index), file)] as const),
    ),
  );
}

/** Collects a file and its imports. */
function visit(file: string | undefined, visited: Set<string>): void {
  if (file === undefined || visited.has(file) || !/\/(components|utils)\//.test(file)) return;
  visited.add(file);
  for (const [, next = ''] of readFileSync(file, 'utf8').matchAll(/from "(\.[^"]+)"/g)) {
    visit(join(dirname(file), next), visited);
  }
}

function sheetOf(name: string): string {
  return join(LIBRARY, 'styles', `${name}.layer.css`);
}

function positionOf(name: string, whole: string): number {
  const [selector = ''] = /\.m_[0-9a-f]+/.exec(readFileSync(sheetOf(name), 'utf8')) ?? [];
  return whole.indexOf(selector);
}
