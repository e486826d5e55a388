import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { allPages } from '../../dev/docs/markdown.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { signature } from '../../src/outbound/sign.ts';

const run = promisify(execFile);

type Block = { where: string; language: string; text: string };

const blocks: Block[] = allPages().flatMap(({ path, parts }) =>
  parts.flatMap((part) =>
    part.kind === 'block'
      ? [{ where: `${path}:${part.line}`, language: part.language, text: part.text }]
      : [],
  ),
);
/** Pages of a separate package are compiled by the tests of the package, where it is installed. */
const OF_PACKAGES = /^clients\//;
const inLanguage = (...languages: string[]) => blocks.filter(({ language }) => languages.includes(language));

describe('code in the documents', function () {
  this.timeout(180_000);
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-code-'));
    symlinkSync(inCheckout('node_modules'), join(folder, 'node_modules'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is valid JSON in blocks marked as JSON', () => {
    const wrong = inLanguage('json').flatMap(({ where, text }) => failing(where, () => JSON.parse(text)));
    assert.deepEqual(wrong, []);
  });

  it('is valid YAML in blocks marked as YAML', () => {
    const wrong = inLanguage('yaml', 'yml').flatMap(({ where, text }) => failing(where, () => parse(text)));
    assert.deepEqual(wrong, []);
  });

  it('is valid JavaScript for Node.js', async () => {
    for (const [index, { where, text }] of inLanguage('js', 'javascript', 'mjs').entries()) {
      const file = join(folder, `code-${index}.mjs`);
      writeFileSync(file, text);
      await run(process.execPath, ['--check', file]).catch((error: Error) =>
        assert.fail(`${where}: ${error.message}`),
      );
    }
  });

  it('is TypeScript that compiles', async () => {
    const files = inLanguage('ts', 'typescript')
      .filter(({ where }) => !OF_PACKAGES.test(where))
      .map(({ where, text }, index) => {
        writeFileSync(join(folder, `code-${index}.mts`), `// ${where}\n${text}\nexport {};\n`);
        return join(folder, `code-${index}.mts`);
      });
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'esnext'];
    const settings = [...options, '--types', 'node', '--allowImportingTsExtensions'];
    const { stdout } = await run(inCheckout('node_modules', '.bin', 'tsc'), [...settings, ...files], {
      cwd: folder,
    }).catch((error: Error & { stdout: string }) => error);
    assert.equal(stdout, '');
  });

  it('is valid Python', async function () {
    if (!isThere('python3')) this.skip();
    const takes = 'import ast, sys; compile(sys.argv[1], "page", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)';
    for (const { where, text } of inLanguage('py', 'python')) {
      await run('python3', ['-c', takes, text]).catch((error: Error) =>
        assert.fail(`${where}: ${error.message}`),
      );
    }
  });
});

describe('the signature examples', function () {
  this.timeout(180_000);
  const SECRET = 'c0ffee-grün-€';
  const BODY = '{"text":"Größe 1.0e2"}';
  const genuine = signature(SECRET, Buffer.from(BODY));
  const cases = [genuine, `${genuine.slice(0, -1)}x`, genuine.toUpperCase(), ''];
  const verdicts = '[true,false,false,false]';
  let folder: string;

  const shown = (language: string) => {
    const found = inLanguage(language).find(({ where }) =>
      where.startsWith('docs/how-to/verify-a-signature.md'),
    );
    assert.ok(found, `no ${language}`);
    return found.text;
  };
  before(() => (folder = mkdtempSync(join(tmpdir(), 'baton-verify-'))));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('accept only a valid signature in TypeScript', async () => {
    const file = join(folder, 'verify.ts');
    writeFileSync(file, shown('ts'));
    const { isGenuine } = (await import(file)) as { isGenuine(...given: unknown[]): boolean };
    const found = cases.map((header) => isGenuine(SECRET, Buffer.from(BODY), header));
    assert.equal(JSON.stringify(found), verdicts);
  });

  it('accept only a valid signature in Python', async function () {
    if (!isThere('python3')) this.skip();
    const asking = `
import json, sys
secret, body, cases = sys.argv[1], sys.argv[2].encode(), json.loads(sys.argv[3])
print(json.dumps([is_genuine(secret, body, case) for case in cases], separators=(",", ":")))`;
    const words = ['-c', shown('python') + asking, SECRET, BODY, JSON.stringify(cases)];
    const { stdout } = await run('python3', words, { env: { ...process.env, PYTHONUTF8: '1' } });
    assert.equal(stdout.trim(), verdicts);
  });

  it('accept only a valid signature in Go', async function () {
    if (!isThere('go', 'version')) this.skip();
    const asking = `package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	var cases []string
	json.Unmarshal([]byte(os.Args[3]), &cases)
	found := []bool{}
	for _, one := range cases {
		found = append(found, IsGenuine(os.Args[1], []byte(os.Args[2]), one))
	}
	out, _ := json.Marshal(found)
	fmt.Println(string(out))
}
`;
    writeFileSync(join(folder, 'go.mod'), 'module verify\n\ngo 1.22\n');
    writeFileSync(join(folder, 'main.go'), asking);
    writeFileSync(join(folder, 'verify.go'), shown('go').replace('package signatures', 'package main'));
    const { stdout } = await run('go', ['run', '.', SECRET, BODY, JSON.stringify(cases)], { cwd: folder });
    assert.equal(stdout.trim(), verdicts);
  });
});

function failing(where: string, work: () => unknown): string[] {
  try {
    work();
    return [];
  } catch (error) {
    return [`${where}: ${(error as Error).message}`];
  }
}

function isThere(program: string, probe = '--version'): boolean {
  return spawnSync(program, [probe], { stdio: 'ignore' }).status === 0;
}
