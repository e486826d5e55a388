import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { inCheckout } from '../../dev/common/paths.ts';

/** The front matter of a skill (agentskills.io/specification). */
const frontMatter = z.strictObject({
  name: z
    .string()
    .max(64)
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/),
  description: z.string().min(1).max(1_024),
  compatibility: z.string().min(1).max(500).optional(),
});

describe('the skills for agents', () => {
  const files = globSync('skills/*/SKILL.md', { cwd: inCheckout() }).toSorted();

  it('have the front matter of the format, and the name of their folder', () => {
    assert.deepEqual(
      files.map((file) => basename(dirname(file))),
      ['receive-webhooks', 'submit-tasks'],
    );
    for (const file of files) {
      const [, matter = '', body = ''] =
        /^---\n(.*?)\n---\n(.*)$/s.exec(readFileSync(inCheckout(file), 'utf8')) ?? [];
      const { name, description } = frontMatter.parse(parse(matter));
      assert.equal(name, basename(dirname(file)));
      assert.match(description, /Baton.* Use it (to|when) /, file);
      assert.ok(body.split('\n').length < 500, `${file} is too long for a context window`);
    }
  });
});
