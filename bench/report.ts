import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inCheckout } from '../dev/common/paths.ts';
import { updateTables } from './support/documents.ts';
import { drawPlot } from './support/plots.ts';
import { formatBench, formatSummary } from './support/format.ts';
import { toJson, mergeReports, type BenchReport } from './support/results.ts';

/*
 * `npm run bench report [-- <json> …]` writes results into `docs/performance.md`, its charts and `figures.json`, and keeps
 * the results of other benchmarks. Without a file it writes the existing results again.
 */
const FOLDER = inCheckout('docs', 'performance');
const RESULTS_FILE = join(FOLDER, 'figures.json');
const DOCUMENT = inCheckout('docs', 'performance.md');

function read(file: string): BenchReport {
  return JSON.parse(readFileSync(file, 'utf8')) as BenchReport;
}

function readPreviousReport(): BenchReport {
  try {
    return read(RESULTS_FILE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { benches: [] };
    throw error;
  }
}

const report = mergeReports([readPreviousReport(), ...process.argv.slice(2).map(read)]);
mkdirSync(FOLDER, { recursive: true });
writeFileSync(RESULTS_FILE, toJson(report));
for (const bench of report.benches) {
  console.log(`${formatBench(bench)}\n`);
  const svg = await drawPlot(bench);
  if (svg !== null) writeFileSync(join(FOLDER, `${bench.name}.svg`), svg);
}
writeFileSync(DOCUMENT, updateTables(readFileSync(DOCUMENT, 'utf8'), report));
console.log(formatSummary(report));
