import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inCheckout } from '../dev/common/paths.ts';
import { withFigures } from './support/documents.ts';
import { plotOf } from './support/plots.ts';
import { printed, printedSummary } from './support/printed.ts';
import { asJson, merged, type BenchReport } from './support/results.ts';

/*
 * `npm run bench report [-- <json> …]`: takes results into `docs/performance.md`, its pictures and `figures.json`, beside
 * what is there of other benches; without a file it draws what is there anew.
 */
const PLACE = inCheckout('docs', 'performance');
const FIGURES = join(PLACE, 'figures.json');
const DOCUMENT = inCheckout('docs', 'performance.md');

function read(file: string): BenchReport {
  return JSON.parse(readFileSync(file, 'utf8')) as BenchReport;
}

function known(): BenchReport {
  try {
    return read(FIGURES);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { benches: [] };
    throw error;
  }
}

const report = merged([known(), ...process.argv.slice(2).map(read)]);
mkdirSync(PLACE, { recursive: true });
writeFileSync(FIGURES, asJson(report));
for (const bench of report.benches) {
  console.log(`${printed(bench)}\n`);
  const svg = await plotOf(bench);
  if (svg !== null) writeFileSync(join(PLACE, `${bench.name}.svg`), svg);
}
writeFileSync(DOCUMENT, withFigures(readFileSync(DOCUMENT, 'utf8'), report));
console.log(printedSummary(report));
