import assert from 'node:assert/strict';
import { NO_ISOLATION } from '../../src/agents/isolation.ts';
import { startProgram } from '../../src/agents/own-process.ts';

describe('the standard error of a program', () => {
  it('is passed on line by line, and long lines are cut while they are read', async () => {
    const lines: string[] = [];
    const script = `
      process.stderr.write('short\\n');
      for (let n = 0; n < 200; n += 1) process.stderr.write('x'.repeat(100_000));
      process.stderr.write('\\rprogress\\nafter\\n' + 'é'.repeat(3_000) + '\\nlast');
    `;
    const program = startProgram(
      { command: process.execPath, args: ['-e', script] },
      {},
      { onLine: () => {}, onDiagnostic: (line) => void lines.push(line) },
      NO_ISOLATION,
    );
    await program.ended;
    assert.deepEqual(
      lines.map((line) => [line.slice(0, 5), line.length]),
      [
        ['short', 5],
        ['xxxxx', 2_000],
        ['progr', 8],
        ['after', 5],
        ['ééééé', 2_000],
        ['last', 4],
      ],
    );
  });
});
