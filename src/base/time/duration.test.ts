import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatDuration, parseDuration } from './duration.ts';

describe('durations', () => {
  for (const [text, ms] of [
    ['70s', 70_000],
    ['1h2m', 3_720_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['250ms', 250],
    ['5m0s', 300_000],
    ['1500us', 1.5],
    ['0', 0],
    ['-0', 0],
    ['0s', 0],
    ['-5s', -5_000],
    ['+5s', 5_000],
    ['', undefined],
    ['-', undefined],
    ['5', undefined],
    ['s', undefined],
    ['5 s', undefined],
    ['5s ', undefined],
    ['5s\n', undefined],
    ['--5s', undefined],
    ['5d', undefined],
    ['5s4', undefined],
    ['1e3s', undefined],
  ] as const) {
    it(JSON.stringify(text), () => assert.equal(parseDuration(text), ms));
  }
});

describe('durations as Go prints them', () => {
  for (const [ms, text] of [
    [0, '0s'],
    [0.000317, '317ns'],
    [0.0021, '2.1µs'],
    [4.730661, '4.730661ms'],
    [999.9999999, '1s'],
    [1_500, '1.5s'],
    [59_999.5, '59.9995s'],
    [60_000, '1m0s'],
    [3_600_000, '1h0m0s'],
    [3_725_250, '1h2m5.25s'],
  ] as const) {
    it(text, () => {
      assert.equal(formatDuration(ms), text);
      assert.ok(Math.abs((parseDuration(text) ?? Number.NaN) - ms) < 1e-5);
    });
  }
});
