import assert from 'node:assert/strict';
import { createLog } from '../../src/runtime/log.ts';

describe('the log of a process', () => {
  const written = (
    write: (log: ReturnType<typeof createLog>) => void,
    more?: () => Record<string, string>,
  ) => {
    const lines: string[] = [];
    write(createLog('test', { to: { write: (line) => void lines.push(line) }, ...(more ? { more } : {}) }));
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  it('redacts fields with names of secrets, also in errors', () => {
    const secrets = { secret: 'hush', authorization: 'hush', callback_secret: 'hush', body: { of: 'hush' } };
    const [line] = written((log) =>
      log.warn({ ...secrets, err: Object.assign(new Error('no'), secrets) }, 'trouble'),
    );
    assert.ok(!JSON.stringify(line).includes('hush'));
    assert.deepEqual([line?.['secret'], line?.['msg'], line?.['name']], ['[Redacted]', 'trouble', 'test']);
  });

  it('adds the context to every line, unless the line sets the same field', () => {
    const lines = written(
      (log) => {
        log.info('one');
        log.info({ trace_id: 'own' }, 'two');
      },
      () => ({ trace_id: 'context' }),
    );
    assert.deepEqual(
      lines.map(({ trace_id: id }) => id),
      ['context', 'own'],
    );
  });
});
