import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLogger, type LogFields, type LoggerOptions, type LogLevel } from './logger.ts';
import { ManualClock } from './time/clock.ts';

function logged(
  format: LoggerOptions['format'],
  message: string,
  fields?: LogFields,
  level: LogLevel = 'info',
): string {
  const lines: string[] = [];
  const logger = createLogger({ level, format, clock: new ManualClock(), write: (line) => lines.push(line) });
  logger.info(message, fields);
  return lines.join('');
}

it('writes levels down to the chosen one', () => {
  for (const [level, expected] of [
    ['error', ['error']],
    ['warn', ['error', 'warn']],
    ['info', ['error', 'warn', 'info']],
    ['debug', ['error', 'warn', 'info', 'debug']],
  ] as const) {
    const lines: string[] = [];
    const write = (line: string) => lines.push(JSON.parse(line).level);
    const logger = createLogger({ level, format: 'json', clock: new ManualClock(), write });
    for (const each of ['error', 'warn', 'info', 'debug'] as const) logger[each]('x');
    assert.deepEqual(lines, expected);
  }
});

it('writes JSON lines whose own fields cannot be replaced', () => {
  assert.equal(
    logged('json', 'started', { port: 6443, level: 'no', big: 10n }),
    '{"time":"2026-01-01T00:00:00.000Z","level":"info","message":"started","port":6443,"big":"10"}\n',
  );
});

it('writes errors with their cause and code', () => {
  const error = Object.assign(new Error('outer', { cause: new TypeError('inner') }), { code: 'EOUTER' });
  const line = JSON.parse(logged('json', 'failed', { error }));
  assert.deepEqual(
    [line.error.name, line.error.message, line.error.code, line.error.cause.name, line.error.cause.message],
    ['Error', 'outer', 'EOUTER', 'TypeError', 'inner'],
  );
  assert.match(line.error.stack, /logger\.test/);
});

it('writes a line even of what JSON cannot hold', () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  assert.match(logged('json', 'odd', cycle), /^.+\n$/);
  assert.match(logged('text', 'odd', { cycle, nothing: undefined }), /nothing=null\n$/);
});

it('writes text that stays on one line and leaves the terminal alone', () => {
  assert.equal(
    logged('text', 'bad\nname \u001b[2J', { user: 'jane', said: 'a "b"\n', count: 2 }),
    '2026-01-01T00:00:00.000Z info  bad | name \\u001b[2J user=jane said="a \\"b\\"\\n" count=2\n',
  );
});
