import { markdownTable } from '../docs/write.ts';
import {
  percentOf,
  scoresOf,
  sum,
  unkilledIn,
  type Results,
  type Score,
  type SubjectScores,
} from './results.ts';
import { LEFT_OUT } from './subjects.ts';

const HEADINGS = ['killed', 'survived', 'not reached', 'score'];

/** Returns the scores of the subjects as lines of text. */
export function scoreTable(subjects: readonly SubjectScores[]): string {
  const total = sum(subjects.map(({ score }) => score));
  const rows = [...subjects, { title: 'All', score: total }];
  const width = Math.max(...rows.map(({ title }) => title.length));
  return [['', ...HEADINGS], ...rows.map(({ title, score }) => [title, ...cellsOf(score)])]
    .map(([title = '', ...cells]) =>
      [title.padEnd(width), ...cells.map((cell) => cell.padStart(11))].join(' '),
    )
    .join('\n');
}

/** Returns the page with the scores of all files and the mutants that no test kills. */
export function reportPage(results: Results): string {
  const subjects = scoresOf(results);
  const total = sum(subjects.map(({ score }) => score));
  const files = subjects.flatMap((subject) => subject.files.map(({ file }) => file));
  return `${[
    '# Mutation testing',
    '',
    '<!-- Made by `npm run mutate -- --report` from the last results: change dev/mutation/report.ts, not this page. -->',
    '',
    ...INTRODUCTION,
    '## Scores',
    '',
    'The score is the part of the mutants that a test killed. Mutants that no test reaches count as not killed.',
    '',
    markdownTable(
      ['subject', ...HEADINGS],
      [...subjects, { title: '**All**', score: total }].map(({ title, score }) => [title, ...cellsOf(score)]),
    ),
    '',
    ...subjects.flatMap(sectionOf),
    '## Survivors',
    '',
    'Each of these changes nothing that a caller can observe.',
    '',
    markdownTable(['where', 'code', 'mutated', 'reason'], survivorRows(results, files)),
    '',
    '## Not mutated',
    '',
    markdownTable(
      ['files', 'reason'],
      [...LEFT_OUT.map(({ files: left, reason }) => [left.map(code).join(', '), reason]), ...TEXTS],
    ),
  ].join('\n')}\n`;
}

const INTRODUCTION = [
  '`npm run mutate` changes the code that decides, one small change at a time: `<` becomes `<=`, a condition becomes',
  '`true`, a statement disappears. For each changed copy, a mutant, it runs the fast tests that reach the change. A test',
  'that fails kills the mutant. A mutant that survives is a fault that those tests would not notice.',
  '',
  '<!-- not run: takes minutes -->',
  '```sh',
  'npm run mutate                                        # all of it, about two minutes',
  'npm run mutate -- --changed                           # what changed since the last run, and survivors',
  'npm run mutate -- src/domain/webhooks/matching.ts     # files or folders',
  'npm run mutate -- --report                            # writes this page from the last results',
  '```',
  '',
  '`--changed` keeps the result of a mutant if neither its code nor the test that killed it has changed. The results are in',
  '`.local/mutation/results.json`; a run of some files keeps those of the others.',
  '',
  'Only tests without services run: they take milliseconds and give the same result each time. Tests with PostgreSQL and',
  'Temporal find faults in the connections between parts, which are not mutated. `dev/mutation/subjects.ts` lists the',
  'mutated code, `dev/mutation/tests.ts` selects the tests.',
  '',
];

/** What is left out everywhere. */
const TEXTS = [
  [
    'texts of messages, descriptions of schemas',
    'People read them, and no program decides by them. `dev/mutation/texts.ts` recognises them.',
  ],
];

function sectionOf({ title, files }: SubjectScores): string[] {
  const rows = files.map(({ file, score }) => [code(file), ...cellsOf(score)]);
  return rows.length > 0 ? [`### ${title}`, '', markdownTable(['file', ...HEADINGS], rows), ''] : [];
}

function survivorRows(results: Results, files: readonly string[]): string[][] {
  return files
    .flatMap((file) => unkilledIn(results, file))
    .map(({ file, line, original, replacement, reason }) => [
      code(`${file}:${line}`),
      code(original),
      code(replacement),
      reason ?? '**not examined**',
    ]);
}

function cellsOf(score: Score): string[] {
  const { killed, survived, uncovered } = score;
  return [killed, survived, uncovered].map(String).concat(`${percentOf(score).toFixed(1)} %`);
}

function code(text: string): string {
  return `\`${text.replaceAll(/\s+/g, ' ').replaceAll('`', "'")}\``;
}
