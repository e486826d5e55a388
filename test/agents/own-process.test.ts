import assert from 'node:assert/strict';
import { NO_ISOLATION, type Isolation } from '../../src/agents/isolation.ts';
import { LONGEST_LINE, startProgram, type Program } from '../../src/agents/own-process.ts';

describe('the standard error of a program', () => {
  it('is passed on line by line, and long lines are cut while they are read', async () => {
    const lines: string[] = [];
    const script = `
      process.stderr.write('short\\n');
      for (let n = 0; n < 200; n += 1) process.stderr.write('x'.repeat(100_000));
      process.stderr.write('\\rprogress\\nafter\\n' + 'é'.repeat(3_000) + '\\n' + 'x'.repeat(1_999) + '😀y\\nlast');
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
        ['xxxxx', 1_999],
        ['last', 4],
      ],
    );
  });
});

describe('a program that cannot start', () => {
  const start = (program: Program, isolation: Isolation) =>
    startProgram(program, { PATH: '/bin' }, { onLine: () => {}, onDiagnostic: () => {} }, isolation);
  const faultAs = async (isolation: Isolation) =>
    (await start({ command: import.meta.filename, args: [] }, isolation).ended).fault;

  it('is reported with the reason of the system, and its user if it has one', async () => {
    assert.equal(await faultAs(NO_ISOLATION), 'cannot start (EACCES)');
    const nobody = { kind: 'user', uid: 65_534, gid: 65_534, home: null } as const;
    // Only root may start a program as another user.
    assert.match((await faultAs(nobody)) ?? '', /^cannot start \((EACCES|EPERM)\) as user 65534$/);
  });

  it('has ended, also if its arguments are longer than the system accepts', async () => {
    const program = start({ command: 'true', args: ['x'.repeat(4_000_000)] }, NO_ISOLATION);
    program.send('a line');
    await program.end();
    assert.deepEqual(await program.ended, { code: null, signal: null, fault: 'cannot start (E2BIG)' });
  });
});

describe('the output of a program', () => {
  const linesOf = async (script: string): Promise<string[]> => {
    const lines: string[] = [];
    const handlers = { onLine: (line: string) => void lines.push(line), onDiagnostic: () => {} };
    const { ended } = startProgram(
      { command: process.execPath, args: ['-e', script] },
      {},
      handlers,
      NO_ISOLATION,
    );
    await ended;
    return lines;
  };

  it('is split at line feeds only, wherever the pieces end, and read as UTF-8', async () => {
    const lines = await linesOf(`
      const { stdout } = process;
      stdout.write('{"a":"\\u2028\\u2029"}\\n\\r\\n');
      const bytes = Buffer.from('é'.repeat(100_000) + '\\n');
      stdout.write(bytes.subarray(0, 70_001));
      const rest = Buffer.concat([bytes.subarray(70_001), Buffer.from([0xff]), Buffer.from('end')]);
      setTimeout(() => stdout.write(rest), 50);
    `);
    assert.deepEqual(lines, ['{"a":"\u2028\u2029"}', '\r', 'é'.repeat(100_000), '\ufffdend']);
  });

  it('may have a line of 4 MiB, and one that is much longer ends the program', async () => {
    const outcomeOf = async (bytes: number) => {
      const lengths: number[] = [];
      const { ended } = startProgram(
        {
          command: process.execPath,
          args: ['-e', `process.stdout.write('x'.repeat(${bytes}) + '\\nnext\\n', () => process.exit(3));`],
        },
        {},
        { onLine: ({ length }) => void lengths.push(length), onDiagnostic: () => {} },
        NO_ISOLATION,
      );
      const { code, fault } = await ended;
      return { lengths, code, fault };
    };
    assert.deepEqual(await outcomeOf(LONGEST_LINE), { lengths: [LONGEST_LINE, 4], code: 3, fault: null });
    const { lengths, fault } = await outcomeOf(LONGEST_LINE + 1_000_000);
    assert.deepEqual([lengths, fault], [[], `it wrote a line longer than ${LONGEST_LINE} bytes`]);
  });

  it('does not have to be closed by a process that has left the group of the program', async () => {
    const [pid] = await linesOf(`
      const { spawn } = require('node:child_process');
      const left = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600_000)'], { detached: true, stdio: 'inherit' });
      process.stdout.write(String(left.pid), () => process.exit());
    `);
    process.kill(Number(pid), 'SIGKILL');
  });
});
