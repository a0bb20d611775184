import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDuration } from './duration.ts';

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
