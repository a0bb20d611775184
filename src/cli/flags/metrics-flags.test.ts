import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { metricsFlags, readMetrics } from './metrics-flags.ts';

const allow = metricsFlags['allow-metric-labels'];
const parsed = (...texts: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(texts.reduce<typeof allow.default>((before, text) => allow.parse(text, before), allow.default));

describe('--allow-metric-labels', () => {
  for (const [texts, lists] of [
    [[''], {}],
    [['a_total,verb=get'], { 'a_total,verb': 'get' }],
    [['a_total,verb=get,list'], { 'a_total,verb': 'get,list' }],
    [['"a_total,verb=get,list"'], { 'a_total,verb': 'get,list' }],
    [["a_total,verb='get,list'"], { 'a_total,verb': 'get,list' }],
    [['"a_total,verb=get,list","b,code=200"'], { 'a_total,verb': 'get,list', 'b,code': '200' }],
    [["a_total,verb='get,list', b:c,code='200'"], { 'a_total,verb': 'get,list', 'b:c,code': '200' }],
    [['a,x=1', 'b,y=2', 'a,x=3'], { 'a,x': '3', 'b,y': '2' }],
    [['a,x='], { 'a,x': '' }],
  ] as const) {
    it(`${texts.join(' and ')}`, () => assert.deepEqual(parsed(...texts), lists));
  }
  for (const text of ['a,x', 'a=b', 'a,=b', ',x=b', 'a,x,y=b', '1a,x=b', 'a,1x=b', 'a,x=1,b,y=2', 'a b,x=1']) {
    it(`${text} is refused`, () => assert.throws(() => parsed(text), /METRIC,LABEL|key=value|in quotes/));
  }
});

describe('--disabled-metrics and --show-hidden-metrics-for-version', () => {
  const disabled = metricsFlags['disabled-metrics'];
  const shown = metricsFlags['show-hidden-metrics-for-version'];
  it('names accumulate', () =>
    assert.deepEqual(disabled.parse('c', disabled.parse('a_total,b:c', undefined)), ['a_total', 'b:c', 'c']));
  for (const text of ['a,', 'a b', '1a', 'a{x="y"}', 'a-b'])
    it(`${text} is no name`, () =>
      assert.throws(() => disabled.parse(text, undefined), /is not the full name of a metric/));
  it('only the release before is taken', () => assert.equal(shown.parse('1.31', undefined), '1.31'));
  for (const text of ['1.32', '1.30', '1.33', '1.31.0', 'v1.31', '31', '1'])
    it(`${text} is refused`, () =>
      assert.throws(() => shown.parse(text, undefined), /must be omitted or have the value '1\.31'/));
});

describe('--allow-metric-labels-manifest', () => {
  const folder = mkdtempSync(join(tmpdir(), 'orch-manifest-'));
  after(() => rmSync(folder, { recursive: true }));
  const read = (text: string | undefined, given: Readonly<Record<string, string>> = {}) => {
    const path = join(folder, 'manifest.yaml');
    if (text !== undefined) writeFileSync(path, text);
    else rmSync(path, { force: true });
    const { allowedValues = new Map() } = readMetrics({
      'allow-metric-labels': new Map(Object.entries(given)),
      'allow-metric-labels-manifest': path,
      'disabled-metrics': [],
      'show-hidden-metrics-for-version': undefined,
    });
    return [...allowedValues].map(([metric, labels]) => [
      metric,
      [...labels].map(([label, values]) => [label, [...values]]),
    ]);
  };
  it('is a map in YAML or JSON', () => {
    const expected = [
      [
        'a',
        [
          ['x', ['1', '2']],
          ['y', ['3']],
        ],
      ],
    ];
    assert.deepEqual(read('"a,x": "1,2"\na,y: "3"\n'), expected);
    assert.deepEqual(read('{"a,x": "1, 2", "a,y": "3"}'), expected);
  });
  it('is replaced by the flag', () => assert.deepEqual(read('a,x: b', { 'c,y': 'd' }), [['c', [['y', ['d']]]]]));
  for (const [why, text] of [
    ['absent', undefined],
    ['empty', ''],
    ['a list', '- a,x'],
    ['a text', 'x'],
    ['a list of values', 'a,x: [b]'],
    ['a number', 'a,x: 1'],
    ['a wrong key', 'a: b'],
    ['no YAML', 'a,x: "'],
    ['a key twice', 'a,x: b\na,x: c\n'],
  ] as const) {
    it(`${why}: the start ends, and names the flag`, () =>
      assert.throws(() => read(text), /^(?:UsageError|Error): --allow-metric-labels-manifest: (?!.*Cannot convert)./));
    it(`${why}: so it does where the flag replaces it`, () =>
      assert.throws(() => read(text, { 'c,y': 'd' }), /--allow-metric-labels-manifest: ./));
  }
});
