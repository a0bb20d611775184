import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { publishedFeatureGates } from '../../dialect/published-feature-gates.ts';
import {
  defaultFeatures,
  type FeatureGate,
  type FeatureName,
  type Features,
  featureGates,
  featureMetrics,
} from '../../server/wiring/features.ts';
import { featureGateFlag, warnOfGates } from './feature-gate-flag.ts';

const parse = (...values: readonly string[]) =>
  values.reduce<typeof featureGateFlag.default>(
    (before, value) => featureGateFlag.parse(value, before),
    featureGateFlag.default,
  );
const ofStage = (stage: string, on: boolean): Partial<Features> =>
  Object.fromEntries(
    Object.entries(featureGates).flatMap(([name, gate]) => (gate.stage === stage ? [[name, on]] : [])),
  );

describe('feature gates', () => {
  const compression = { APIResponseCompression: false };
  const rows: readonly (readonly [values: readonly string[], changed: Partial<Features>])[] = [
    [[''], {}],
    [['APIResponseCompression=false'], compression],
    [[' APIResponseCompression = False ,'], compression],
    [['kube:APIResponseCompression=f'], compression],
    [['APIResponseCompression=0', 'RemoteRequestHeaderUID=1'], { ...compression, RemoteRequestHeaderUID: true }],
    [['APIResponseCompression=false', 'APIResponseCompression=true'], {}],
    [['AllAlpha=true'], ofStage('alpha', true)],
    [['AllBeta=false'], ofStage('beta', false)],
    [['AllBeta=false,APIResponseCompression=true'], { ...ofStage('beta', false), APIResponseCompression: true }],
    [['APIResponseCompression=true,AllBeta=false'], { ...ofStage('beta', false), APIResponseCompression: true }],
    [['ConsistentListFromCache=false'], {}],
    [['ServerSideApply=true'], {}],
    [['AllAlpha=false,AllBeta=false'], { ...ofStage('alpha', false), ...ofStage('beta', false) }],
    [['AllAlpha=true,RemoteRequestHeaderUID=false'], { ...ofStage('alpha', true), RemoteRequestHeaderUID: false }],
  ];
  for (const [values, changed] of rows) {
    it(values.join(' and '), () => assert.deepEqual(parse(...values).features, { ...defaultFeatures, ...changed }));
  }

  for (const [value, message] of [
    ['Nonsense=true', /^unrecognized feature gate: Nonsense; known: /],
    ['toString=true', /^unrecognized feature gate: toString; known: /],
    ['AllowParsingUserUIDFromCertAuth=true', /^unrecognized feature gate: AllowParsingUserUIDFromCertAuth; /],
    ['MemoryManager=false', /^cannot set feature gate MemoryManager to false, feature is locked to true$/],
    [
      'AllowServiceLBStatusOnNonLB=1',
      /^cannot set .* AllowServiceLBStatusOnNonLB to true, feature is locked to false$/,
    ],
    ['APIResponseCompression', /^"APIResponseCompression" is not NAME=true or NAME=false$/],
    ['APIResponseCompression=maybe', /is not NAME=true or NAME=false$/],
    ['=true', /is not NAME=true or NAME=false$/],
  ] as const) {
    it(`${value}: refused`, () => assert.throws(() => parse(value), { message }));
  }

  /** What is logged of a gate. */
  function warningOf(name: string, on: boolean): string {
    const lines: string[] = [];
    const clock = new ManualClock();
    const logger = createLogger({ level: 'debug', format: 'text', clock, write: (line) => lines.push(line) });
    warnOfGates(logger, parse(`${name}=${on}`));
    assert.ok(lines.length < 2);
    return lines[0] ?? '';
  }

  for (const [name, { lockedTo }] of publishedFeatureGates) {
    it(`${name} of kube-apiserver works, is accepted with a warning, or cannot be changed any more`, () => {
      const stage = Object.hasOwn(featureGates, name) ? featureGates[name as FeatureName].stage : undefined;
      for (const on of [true, false]) {
        if (lockedTo === !on) {
          const message = `cannot set feature gate ${name} to ${on}, feature is locked to ${lockedTo}`;
          assert.throws(() => parse(`${name}=${on}`), { message });
          continue;
        }
        const warning = warningOf(name, on);
        if (stage === 'alpha' || stage === 'beta') assert.equal(warning, '');
        else if (stage === undefined) assert.match(warning, RegExp(`--feature-gates=${name}".*switches nothing here`));
        else {
          const called = stage === 'stable' ? 'GA' : 'deprecated';
          const text = `Setting ${called} feature gate ${name}=${on}. It will be removed in a future release.`;
          assert.ok(warning.endsWith(`${text}"\n`), warning);
        }
      }
    });
  }

  it('stable gates are locked, alpha ones off', () => {
    for (const [name, gate] of Object.entries<FeatureGate>(featureGates)) {
      if (gate.stage === 'stable') assert.deepEqual([gate.locked, gate.default], [true, true], name);
      else assert.equal(gate.locked, undefined, name);
      if (gate.stage === 'alpha') assert.equal(gate.default, false, name);
      const published = publishedFeatureGates.get(name);
      assert.ok(published, name);
      assert.equal(published.lockedTo, gate.locked && gate.default, name);
    }
  });

  for (const dialect of [orch, kubernetes]) {
    it(`${dialect.name}: a metric shows every gate with its stage`, () => {
      const metrics = new Metrics();
      const { features, wholeStages } = parse('AllAlpha=true,APIResponseCompression=false');
      featureMetrics(metrics, dialect, { features, whole: wholeStages });
      const name = `${dialect.name}_feature_enabled`;
      const lines = metrics
        .render()
        .split('\n')
        .filter((line) => line.startsWith(`${name}{`));
      assert.equal(lines.length, Object.keys(featureGates).length + 2);
      for (const line of [
        `${name}{name="AllAlpha",stage="ALPHA"} 1`,
        `${name}{name="AllBeta",stage="BETA"} 0`,
        `${name}{name="RemoteRequestHeaderUID",stage="ALPHA"} 1`,
        `${name}{name="APIResponseCompression",stage="BETA"} 0`,
        `${name}{name="ServerSideApply",stage=""} 1`,
      ]) {
        assert.ok(lines.includes(line), line);
      }
    });
  }
});
