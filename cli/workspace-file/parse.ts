import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, type Document } from 'yaml';
import { problemsIn } from '../../src/domain/common/validation.ts';
import { usageError, type CliError } from '../exit-codes.ts';
import type { Fault, Path } from './change.ts';
import { workspaceFile, type WorkspaceFile } from './schema.ts';

/** A validated file. `invalid` returns the error for faults that only the workspace shows. */
export type ParsedFile = { file: WorkspaceFile; invalid(faults: readonly Fault[]): CliError };

/**
 * Parses and validates a workspace file. Errors contain `source`, and the line of each fault.
 * @throws CliError for a file that is not valid YAML or does not match the schema
 */
export function parseWorkspaceFile(text: string, source: string): ParsedFile {
  const lines = new LineCounter();
  // Pretty errors would repeat the lines of the file.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true });
  const broken = [...document.errors, ...document.warnings];
  if (broken.length > 0) {
    throw invalidFile(
      source,
      broken.map(({ pos: [offset], message }) => ({ line: lines.linePos(offset).line, message })),
    );
  }
  const invalid = (faults: readonly Fault[]) =>
    invalidFile(
      source,
      faults.map(({ path, message }) => ({ line: lines.linePos(offsetOf(document, path)).line, message })),
    );
  const content = contentOf(document, invalid);
  const read = workspaceFile.safeParse(content);
  if (!read.success) throw invalid(problemsIn(read.error, content, 'body').map(faultOf));
  return { file: read.data, invalid };
}

/** @throws the error of `invalid` if the content has no fields */
function contentOf(document: Document, invalid: (faults: readonly Fault[]) => CliError): object {
  let content: unknown;
  try {
    content = document.toJS();
  } catch (error) {
    // Aliases that expand to too many values.
    throw invalid([{ path: [], message: `${(error as Error).message}.` }]);
  }
  if (typeof content === 'object' && content !== null && !Array.isArray(content)) {
    if (Object.keys(content).length > 0) return content;
  }
  throw invalid([
    { path: [], message: 'The file must have at least one of `projects`, `members`, `keys` and `webhooks`.' },
  ]);
}

function faultOf({ pointer = '', message }: { pointer?: string; message: string }): Fault {
  const path = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (!/^\/webhooks\/\d+\/secret$/.test(pointer)) return { path, message };
  return {
    path,
    message: `\`${path.join('.')}\` must not be in the file: use \`secret_env\` or \`secret_file\`.`,
  };
}

function invalidFile(source: string, faults: readonly { line: number; message: string }[]): CliError {
  const found = faults.toSorted((one, other) => one.line - other.line);
  const sentences = found.map(({ line, message }) => `  ${source}:${line}: ${message}`);
  return usageError([`${source} cannot be applied. Nothing was changed.`, ...sentences].join('\n'));
}

/** Returns where a place begins in the text; for a missing field, where the object begins that lacks it. */
function offsetOf(document: Document, path: Path): number {
  let node: unknown = document.contents;
  let offset = startOf(node, 0);
  for (const part of path) {
    const inner = isAlias(node) ? node.resolve(document) : node;
    if (isMap(inner)) {
      const pair = inner.items.find(({ key }) => isScalar(key) && key.value === String(part));
      if (pair === undefined) break;
      offset = startOf(pair.key, offset);
      node = pair.value;
    } else {
      node = isSeq(inner) ? inner.items[Number(part)] : undefined;
      offset = startOf(node, offset);
    }
  }
  return offset;
}

function startOf(node: unknown, otherwise: number): number {
  return isNode(node) ? (node.range?.[0] ?? otherwise) : otherwise;
}
