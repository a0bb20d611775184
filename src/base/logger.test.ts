import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from './limits.ts';
import type { LogFields, LogLevel } from './log-lines.ts';
import { createLogger, type LoggerOptions } from './logger.ts';
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

const caller = /logger\.test\.ts:\d+/;

it('writes JSON lines with the published keys, which fields cannot replace', () => {
  const line = logged('json', 'started', { port: 6443, level: 'no', ts: 'no', v: 'no', msg: 'no', big: 10n });
  assert.equal(
    line.replace(caller, 'here'),
    '{"ts":1767225600000,"level":"info","caller":"here","msg":"started","v":0,"port":6443,"big":"10"}\n',
  );
});

it('writes the verbosity of a line', () => {
  const lines: unknown[] = [];
  const clock = new ManualClock();
  const write = (line: string) => lines.push([JSON.parse(line).v, JSON.parse(line).level]);
  const logger = createLogger({ level: 'debug', verbosity: 3, format: 'json', clock, write });
  logger.error('a');
  logger.warn('a');
  logger.info('a');
  logger.debug('a');
  assert.deepEqual(lines, [
    [undefined, 'error'],
    [0, 'warn'],
    [3, 'info'],
    [4, 'debug'],
  ]);
});

it('writes errors as text with their causes and codes, and with a stack where they are errors of ours', () => {
  const error = Object.assign(new Error('outer', { cause: new TypeError('inner') }), { code: 'EOUTER' });
  const lines: string[] = [];
  const options = { level: 'info', clock: new ManualClock(), write: (line: string) => lines.push(line) } as const;
  createLogger({ ...options, format: 'json' }).info('failed', { error, of: [error] });
  createLogger({ ...options, format: 'json' }).error('failed', { error });
  createLogger({ ...options, format: 'text' }).warn('failed', { error });
  const [first = '', second = '', third = ''] = lines;
  const { err, of, stacktrace } = JSON.parse(first);
  assert.deepEqual([err, of, stacktrace], ['outer (EOUTER): inner', ['outer (EOUTER): inner'], undefined]);
  assert.match(JSON.parse(second).stacktrace, /logger\.test/);
  assert.match(third, /\] "failed" err="outer \(EOUTER\): inner"\n$/);
});

it('writes causes that are no errors, and no endless chain of causes', () => {
  const itself = new Error('itself');
  itself.cause = itself;
  const refused = new Error('refused', { cause: 'reason' });
  for (const format of ['json', 'text'] as const) {
    assert.match(logged(format, 'failed', { error: refused }), /"?err"?[=:]"refused: reason"/);
    assert.match(logged(format, 'failed', { error: itself }), /"?err"?[=:]"(itself: ){7}itself"/);
    assert.match(logged(format, 'failed', { other: refused }), /"?other"?[=:]"refused: reason"/);
  }
});

it('writes a line even of what JSON cannot hold', () => {
  for (const format of ['json', 'text'] as const) {
    assert.match(logged(format, 'odd', { of: { big: [10n] } }), /"?of"?[=:]\{"big":\["10"\]\}/);
  }
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  assert.match(logged('json', 'odd', { cycle, kept: 1 }), /"msg":"odd".*"cycle":"\[object Object\]","kept":1\}\n$/);
  assert.match(logged('text', 'odd', { cycle, nothing: undefined }), /nothing=null\n$/);
});

it('writes text in the form of klog', () => {
  const line = logged('text', 'started', { user: 'jane', said: 'a "b"', count: 2, of: { a: [1] }, on: true });
  const [, place, rest] = /^I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ (\S+:\d+)\] (.*)\n$/.exec(line) ?? [];
  assert.match(place ?? '', caller);
  assert.equal(rest, '"started" user="jane" said="a \\"b\\"" count=2 of={"a":[1]} on=true');
});

it('writes severity and local time as klog does', () => {
  const lines: string[] = [];
  const clock = new ManualClock(Date.UTC(2026, 0, 31, 22, 5, 6, 7));
  const before = process.env['TZ'];
  process.env['TZ'] = 'Asia/Kolkata';
  try {
    const logger = createLogger({ level: 'debug', format: 'text', clock, write: (line) => lines.push(line) });
    for (const each of ['error', 'warn', 'info', 'debug'] as const) logger[each]('x');
  } finally {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  }
  assert.deepEqual(
    lines.map((line) => line.split(' ', 2).join(' ')),
    ['E', 'W', 'I', 'I'].map((severity) => `${severity}0201 03:35:06.007000`),
  );
});

describe('no value starts a line or controls a terminal', () => {
  const hostile = [
    ...Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)),
    ...Array.from({ length: 33 }, (_, at) => String.fromCharCode(0x7f + at)),
    ...['\u061c', '\u200e', '\u200f', '\u2028', '\u2029', '\u202a', '\u202e', '\u2066', '\u2069'],
  ].filter((character) => character !== '\u00a0');
  const printed = /^[\x20-\x7e]*\n$/;
  for (const format of ['json', 'text'] as const) {
    for (const character of hostile) {
      it(`${format}: ${JSON.stringify(character)} (${character.charCodeAt(0)})`, () => {
        const text = `a${character}b`;
        const line = logged(format, text, { value: text, [text]: 1, list: [text], error: new Error(text) });
        assert.match(line, printed);
      });
    }
  }
});

describe('what there is too much of', () => {
  function floodable(taken: () => boolean, sameLinesPerSecondMax = 3) {
    const lines: string[] = [];
    const clock = new ManualClock();
    const write = (line: string): boolean => {
      if (!taken()) return false;
      const { msg, of, lines: count } = JSON.parse(line);
      lines.push([msg, of, count].filter((part) => part !== undefined).join(' '));
      return true;
    };
    const logger = createLogger({ level: 'info', format: 'json', clock, write, sameLinesPerSecondMax });
    return { lines, clock, logger };
  }

  it('lines of one message: some a second, the others are counted', () => {
    const { lines, clock, logger } = floodable(() => true);
    for (let at = 0; at < 10; at++) logger.warn('flood');
    logger.warn('other');
    assert.deepEqual(lines.splice(0), ['flood', 'flood', 'flood', 'other']);
    clock.advance(1_000);
    logger.warn('flood');
    assert.deepEqual(lines, ['lines of the log were left out: too many of the same flood 7', 'flood']);
  });

  it('messages that are made up count as one', () => {
    const { lines, logger } = floodable(() => true);
    for (let at = 0; at < 2 * limits.logMessagesCountedMax; at++) logger.warn(`made up ${at}`);
    assert.equal(lines.length, limits.logMessagesCountedMax + 3);
  });

  it('lines that nobody reads are counted', () => {
    let reads = true;
    const { lines, logger } = floodable(() => reads, 0);
    logger.info('a');
    reads = false;
    for (let at = 0; at < 5; at++) logger.info('b');
    reads = true;
    logger.info('c');
    assert.deepEqual(lines, ['a', 'lines of the log were lost: nobody reads it 5', 'c']);
  });
});
