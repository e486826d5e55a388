import assert from 'node:assert/strict';
import { judgeAudit } from '../../dev/checks/audit-rules.ts';
import { judgeLicences } from '../../dev/checks/licence-rules.ts';
import { faultsInProse, faultsInText } from '../../dev/checks/wording-rules.ts';

describe('the licence of a package', () => {
  const faultsOf = (licence: string, ships = true) =>
    judgeLicences([{ name: 'one', version: '1.0.0', licence, ships }]).faults;

  it('is accepted if one of its alternatives is allowed', () => {
    for (const licence of [
      'MIT',
      'Apache-2.0 AND MIT',
      '(MIT OR GPL-3.0-or-later)',
      'GPL-2.0 OR (MIT AND ISC)',
    ]) {
      assert.deepEqual(faultsOf(licence), [], licence);
    }
  });

  it('is rejected if it is not allowed, unknown or missing', () => {
    const wrong = [
      '',
      'GPL-3.0',
      'MIT AND GPL-3.0',
      '(AGPL-3.0 OR SSPL-1.0)',
      'SEE LICENSE IN LICENSE',
      'MIT please',
    ];
    for (const licence of wrong) assert.equal(faultsOf(licence).length, 1, licence);
    assert.match(faultsOf('')[0] ?? '', /^one@1\.0\.0 has no licence/);
  });

  it('can be MPL-2.0 for development tools only', () => {
    assert.deepEqual(faultsOf('MPL-2.0', false), []);
    assert.equal(faultsOf('MPL-2.0').length, 1);
  });
});

describe('the audit of packages', () => {
  const TODAY = new Date('2026-06-01T12:00:00Z');
  const report = (severity: string) =>
    JSON.stringify({
      vulnerabilities: {
        deep: { via: [{ url: 'https://github.com/advisories/GHSA-1', title: 'Bad', severity }] },
        above: { via: ['deep'] },
      },
    });

  it('fails for high and critical vulnerabilities, and names package and advisory', () => {
    for (const severity of ['high', 'critical']) {
      const { outcome, sentences } = judgeAudit(report(severity), TODAY, []);
      assert.equal(outcome, 'failed');
      assert.match(sentences[0] ?? '', /^deep: (high|critical), Bad \(https:.*GHSA-1\)$/);
      assert.match(sentences[1] ?? '', /^1 known vulnerabilities/);
    }
    assert.equal(judgeAudit(report('moderate'), TODAY, []).outcome, 'passed');
  });

  it('applies an exception until the end of its last day', () => {
    const exception = (until: string) => [{ advisory: 'GHSA-1', until, reason: 'not reached' }];
    assert.equal(judgeAudit(report('high'), TODAY, exception('2026-06-01')).outcome, 'passed');
    assert.equal(judgeAudit(report('high'), TODAY, exception('2026-05-31')).outcome, 'failed');
  });

  it('reports "not audited" if the registry does not respond', () => {
    for (const [written, why] of [
      ['{"message":"405 Method Not Allowed"}', '405 Method Not Allowed'],
      ['{"error":{"code":"ENOTFOUND","summary":"no such host\\nat all"}}', 'no such host'],
      ['no JSON', 'npm gave no report'],
    ] as const) {
      const judged = judgeAudit(written, TODAY, []);
      assert.deepEqual(judged, { outcome: 'not audited', sentences: [`Nothing was audited: ${why}`] });
    }
  });
});

describe('the wording check', () => {
  it('reads the prose of a page, but no code, comments or link targets', () => {
    const page = [
      'The worker can not',
      '`can not` <!-- can not -->',
      '```sh',
      'echo can not',
      '```',
      '[page](can not)',
      'It is told of.',
    ];
    assert.deepEqual(
      faultsInProse(page.join('\n')).map(({ line, found }) => [line, found]),
      [
        [1, 'can not'],
        [7, 'told of'],
      ],
    );
  });

  it('reads the whole of a source file, including names', () => {
    const source = [
      '/** Answers the rows. */',
      "const wish = 'a request';",
      "throw new Error('It can not');",
      '// fine',
    ];
    assert.deepEqual(
      faultsInText(source.join('\n')).map(({ line, found }) => [line, found]),
      [
        [1, '/** Answers'],
        [2, 'wish'],
        [3, 'can not'],
      ],
    );
  });
});
