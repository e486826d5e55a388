import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { runInNewContext } from 'node:vm';
import { tokenizer } from 'acorn';
import { withoutComments } from '../../src/runtime/without-comments.ts';

const require = createRequire(import.meta.url);

describe('JavaScript without comments', () => {
  const cases: Record<string, [source: string, expected: string]> = {
    'no comments and no indentation': [
      '/* one */\n  let a = 1; // two\n\n  /**\n   * three\n   */\n  a += 1;',
      '\nlet a = 1;\n\n\n\n\na += 1;',
    ],
    'a space where two words would become one': ['typeof/**/a;\nlet  b', 'typeof a;\nlet b'],
    'a line break that ends a statement': [
      'function f() { return /*\n*/ 1 }\nf()',
      'function f() { return\n1 }\nf()',
    ],
    'operators apart': ['a + +a - /* x */ -a', 'a + +a - -a'],
    'what looks like a comment in a string, a template or a regular expression': [
      'let s = "// a" + `  /* b */\n   ${ s /* c */ }  // d` + /\\/* e/.source;',
      'let s = "// a" + `  /* b */\n   ${ s }  // d` + /\\/* e/.source;',
    ],
    'divisions apart from regular expressions': [
      'let g = 1, a = 4 / 2 / g // x/g',
      'let g = 1, a = 4 / 2 / g',
    ],
    'the lines of all line breaks': ['a\r\n//\rb\u2028 c\u2029d', 'a\n\nb\nc\nd'],
    'the first line for the shell': ['#!/usr/bin/env node\na', '\na'],
  };
  for (const [what, [source, expected]] of Object.entries(cases)) {
    it(`has ${what}`, () => assert.equal(withoutComments(source, 'commonjs').trimEnd(), expected));
  }

  it('can return outside of functions, or import', () => {
    assert.equal(withoutComments('return 1', 'commonjs'), 'return 1');
    assert.equal(withoutComments("import a from 'a'", 'module'), "import a from 'a'");
    assert.throws(() => withoutComments("import a from 'a'", 'commonjs'), SyntaxError);
  });

  it('has the same tokens in the same lines, in the largest files of packages', () => {
    const files = ['@temporalio/worker', 'socket.io', 'pg', 'protobufjs', 'undici/lib/web/fetch/index.js'];
    for (const file of files) {
      const source = readFileSync(require.resolve(file), 'utf8');
      const compact = withoutComments(source, 'commonjs');
      assert.deepEqual(tokensOf(compact), tokensOf(source), file);
      assert.ok(compact.length < source.length * 0.9, `${file}: ${compact.length} of ${source.length}`);
    }
  });

  it('does the same', () => {
    const source = 'let a = 1\n/* x */ let b = a /* y */\n++b // z\n;[a, `\n ${b}`].join()';
    assert.equal(runInNewContext(withoutComments(source, 'commonjs')), runInNewContext(source));
  });
});

function tokensOf(source: string) {
  const options = { ecmaVersion: 'latest', locations: true } as const;
  return [...tokenizer(source, options)].map(({ start, end, loc }) => ({
    text: source.slice(start, end),
    line: loc?.start.line,
  }));
}
