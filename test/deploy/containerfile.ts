import { readFileSync } from 'node:fs';

/** One instruction of a Containerfile, with continued lines joined: `name` in capitals, its `--flags`, and its arguments. */
export type Instruction = { name: string; flags: Record<string, string>; value: string };
/** The instructions after one FROM. `name` is the name of the stage; that of the last stage is `image`. */
export type Stage = { name: string; base: string; instructions: Instruction[] };

/** Reads a Containerfile. Omits everything before the first FROM. */
export function readContainerfile(path: string): Stage[] {
  const stages: Stage[] = [];
  for (const line of linesOf(readFileSync(path, 'utf8'))) {
    const instruction = instructionOf(line);
    if (instruction.name === 'FROM') {
      const [, base = '', name = 'image'] = /^(\S+)(?: AS (\S+))?$/.exec(instruction.value) ?? [];
      stages.push({ name, base, instructions: [] });
    } else stages.at(-1)?.instructions.push(instruction);
  }
  return stages;
}

function linesOf(text: string): string[] {
  const withoutComments = text.split('\n').filter((line) => !/^\s*#/.test(line));
  return withoutComments
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function instructionOf(line: string): Instruction {
  const [, name = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
  const flags: Record<string, string> = {};
  const value = rest.replaceAll(/(?:^|\s)--(\w[\w-]*)=(\S+)/g, (whole, flag: string, given: string) => {
    if (name === 'RUN') return whole;
    flags[flag] = given;
    return '';
  });
  return { name: name.toUpperCase(), flags, value: value.trim() };
}

/** Returns the only instruction of this name in a stage. @throws if there are none or several */
export function only(stage: Stage, name: string): Instruction {
  const [found, ...more] = stage.instructions.filter((instruction) => instruction.name === name);
  if (!found || more.length > 0) throw new Error(`the stage ${stage.name} has not one ${name}`);
  return found;
}

/** Returns the variables that ENV sets in a stage. */
export function environmentOf(stage: Stage): Record<string, string> {
  const lines = stage.instructions.filter(({ name }) => name === 'ENV').map(({ value }) => value);
  const pairs = lines.flatMap((line) => [...line.matchAll(/([A-Z_]+)=(?:"([^"]*)"|(\S+))/g)]);
  return Object.fromEntries(pairs.map(([, name = '', quoted, plain = '']) => [name, quoted ?? plain]));
}

/** Returns whether `.dockerignore` excludes a path: the last matching line decides. */
export function ignoredBy(path: string): (file: string) => boolean {
  const rules = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ pattern: patternOf(line.replace(/^!/, '')), ignores: !line.startsWith('!') }));
  return (file) => rules.findLast(({ pattern }) => pattern.test(file))?.ignores ?? false;
}

/** Returns whether a line matches a path: it matches the named path and everything below it. */
function patternOf(line: string): RegExp {
  const form = line
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('**/', '\u0000')
    .replaceAll('*', '[^/]*')
    .replaceAll('\u0000', '(?:.*/)?');
  return new RegExp(`^${form}(?:/.*)?$`);
}
