import { parse } from 'acorn';

const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/g;

/**
 * Returns JavaScript without comments and indentation. Line numbers stay the same.
 * @throws SyntaxError if the parser does not understand it
 */
export function withoutComments(source: string, sourceType: 'module' | 'commonjs'): string {
  const parts: string[] = [];
  let end = 0;
  parse(source, {
    ecmaVersion: 'latest',
    sourceType,
    onToken(token) {
      parts.push(separation(source.slice(end, token.start)), source.slice(token.start, token.end));
      end = token.end;
    },
  });
  return parts.join('');
}

/** Returns what has to stay of the text between two tokens. */
function separation(between: string): string {
  const breaks = between.match(LINE_BREAK)?.length ?? 0;
  return breaks > 0 ? '\n'.repeat(breaks) : between && ' ';
}
