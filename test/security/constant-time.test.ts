import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { checkout, inCheckout } from '../../dev/common/paths.ts';
import { comparisonsOfSecrets } from './comparisons.ts';

const SOURCES = '{src,workers,cli,examples}/**/*.{ts,mjs,js}';

/** Comparisons whose duration reveals nothing: file, text, reason. */
const HARMLESS: readonly (readonly [file: string, text: string, reason: string])[] = [
  [
    'src/database/people/key-cache.ts',
    'known.get(hash)',
    'SHA-256 of a key of 256 random bits: no key can be created for a partly known hash',
  ],
  [
    'src/domain/common/idempotency.ts',
    'stored.request_hash !== requestHash',
    'hash of a request, stored for its sender',
  ],
  ['src/api/events/prepare.ts', 'earlier !== made.hash', 'hashes of two events in one request'],
  ['src/database/people/acceptance.ts', 'hash === initial', 'two stored hashes of one account'],
  ['cli/workspace-file/schema.ts', 'given.has_secret !== false', 'whether a webhook signs, from a file'],
];

/** Files that compare secrets, and the function that they use. */
const COMPARING_FILES: readonly (readonly [file: string, comparison: RegExp])[] = [
  ['src/security/passwords.ts', /timingSafeEqual\(/],
  ['src/security/same-secret.ts', /timingSafeEqual\(/],
  ['cli/receiver.ts', /timingSafeEqual\(/],
  ['examples/receivers/typescript/receiver.ts', /timingSafeEqual\(/],
  ['examples/receivers/python/receiver.py', /hmac\.compare_digest\(/],
  ['examples/receivers/go/main.go', /hmac\.Equal\(/],
];

describe('the comparison of secrets', () => {
  it('uses only timingSafeEqual in all sources, with listed exceptions', () => {
    const files = globSync(SOURCES, { cwd: checkout }).filter((file) => !file.includes('node_modules'));
    assert.ok(files.length > 200, `${files.length} files`);
    const unused = new Set(HARMLESS);
    const found = files.toSorted().flatMap((file) =>
      comparisonsOfSecrets(file, readFileSync(inCheckout(file), 'utf8')).flatMap(({ line, text }) => {
        const known = HARMLESS.find((entry) => entry[0] === file && entry[1] === text);
        if (known) unused.delete(known);
        return known ? [] : [`${file}:${line}  ${text}`];
      }),
    );
    assert.deepEqual(found, []);
    assert.deepEqual([...unused], [], 'unused exceptions');
  });

  for (const [file, comparison] of COMPARING_FILES) {
    it(`uses a constant-time function in ${file}`, () => {
      assert.match(readFileSync(inCheckout(file), 'utf8'), comparison);
    });
  }

  it('is detected in every notation', () => {
    const planted = [
      'if (given.token === row.token) allow();',
      'const right = hashOf(given) !== stored.passwordHash;',
      'const isRight = signature == expected;',
      'if (headers["x-service-signature"] === own) allow();',
      'if (secrets.includes(given)) allow();',
      'const session = sessions.get(token);',
      'known.has(await makeHash())',
      'Buffer.from(a).equals(digest)',
      'switch (secret) { case given: allow(); }',
      'if ((row.token_hash ?? "x") === given) allow();',
    ];
    for (const line of planted) assert.equal(comparisonsOfSecrets('planted.ts', line).length, 1, line);
    const fine = [
      'if (secret === null || token === undefined || password === "") refuse();',
      'if (timingSafeEqual(hash, expectedHash)) allow();',
      'if (input_tokens + 1 === most) stop();',
      'if (typeof token !== "string") refuse();',
      'url.searchParams.get("token")',
    ];
    for (const line of fine) assert.deepEqual(comparisonsOfSecrets('fine.ts', line), [], line);
  });
});
