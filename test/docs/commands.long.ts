import assert from 'node:assert/strict';
import { followPage, type PageReport } from '../../dev/docs/run-page.ts';
import { stepsOf } from '../../dev/docs/steps.ts';
import { findTemporalProgram } from '../../dev/services/temporal-binary.ts';
import { readTemporalPlan } from '../../dev/services/temporal-plan.ts';
import { temporalCli } from '../../dev/services/temporal-programs.ts';
import { endLaunched, freshCheckout, npmStart } from '../dev/launched.ts';
import { pages } from './steps.ts';

/** Number of pages that run concurrently. Most of their time is waiting. */
const AT_ONCE = 3;
/** Pages that use npm's real `npx`. Using it for the others would test nothing more. */
const BY_NPM = ['README.md'];
const LIMIT_MS = 600_000;

/** Selects pages by parts of their paths, for authors: `BATON_PAGES=tutorial,events`. */
const CHOSEN = (process.env['BATON_PAGES'] ?? '').split(',');

const runnable = pages.filter(
  (page) =>
    CHOSEN.some((part) => page.path.includes(part)) &&
    stepsOf(page).some(({ kind }) => kind === 'run' || kind === 'other'),
);

describe('the commands in the documents', function () {
  this.timeout(LIMIT_MS);
  let checkout: ReturnType<typeof freshCheckout>;
  const reports = new Map(runnable.map((page) => [page, Promise.withResolvers<PageReport>()]));

  before(async () => {
    checkout = freshCheckout();
    const service = npmStart(checkout.folder, { PORT: '0' }, ['--no-tour']);
    const { base_url: baseUrl } = await service.credentials();
    const temporal = await findTemporalProgram(temporalCli(readTemporalPlan().version));
    const waiting = [...runnable];
    const reader = async () => {
      for (let page = waiting.shift(); page !== undefined; page = waiting.shift()) {
        const quick = !BY_NPM.includes(page.path);
        const reading = { checkout: checkout.folder, baseUrl, programs: { temporal }, quick };
        await followPage(page, reading).then(reports.get(page)?.resolve, reports.get(page)?.reject);
      }
    };
    for (let readers = 0; readers < AT_ONCE; readers += 1) void reader();
  });

  after(async () => {
    await endLaunched();
    checkout.remove();
  });

  for (const page of runnable) {
    it(`work in ${page.path}`, async () => {
      const report = await reports.get(page)?.promise;
      assert.equal(report?.failure ?? null, null, report?.failure ?? '');
      assert.ok(Number(report?.ran) > 0);
    });
  }
});
