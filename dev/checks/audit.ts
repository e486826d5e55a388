import { execFile } from 'node:child_process';
import { checkout } from '../common/paths.ts';
import { judgeAudit } from './audit-rules.ts';
import { NOT_CHECKED } from './exit-codes.ts';

/* `node dev/checks/audit.ts`: asks the registry for known vulnerabilities of the production dependencies. */

const LIMIT_MS = 90_000;

/** Returns the output of npm. Its exit code is 1 for findings and for failures. */
function npmAudit(): Promise<string> {
  const words = ['audit', '--omit=dev', '--json', '--fetch-retries=0'];
  return new Promise((resolve) => {
    execFile(
      'npm',
      words,
      { cwd: checkout, timeout: LIMIT_MS, maxBuffer: 32 * 1024 * 1024 },
      (error, stdout) =>
        resolve(stdout === '' ? JSON.stringify({ message: error?.message ?? 'no answer' }) : stdout),
    );
  });
}

const { sentences, outcome } = judgeAudit(await npmAudit(), new Date());
for (const sentence of sentences) console.log(`    ${sentence}`);
process.exitCode = { passed: 0, failed: 1, 'not audited': NOT_CHECKED }[outcome];
