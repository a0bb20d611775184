import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Metrics } from '../../base/metrics.ts';
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
import { featureGateFlag, ignoredGates } from './feature-gate-flag.ts';

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
    [['WatchList=true'], {}],
    [['ServerSideApply=true'], {}],
    [['AllAlpha=false,AllBeta=false'], { ...ofStage('alpha', false), ...ofStage('beta', false) }],
    [['AllAlpha=true,RemoteRequestHeaderUID=false'], { ...ofStage('alpha', true), RemoteRequestHeaderUID: false }],
  ];
  for (const [values, changed] of rows) {
    it(values.join(' and '), () => assert.deepEqual(parse(...values).features, { ...defaultFeatures, ...changed }));
  }

  for (const [value, message] of [
    ['Nonsense=true', /^unknown name "Nonsense"; known: /],
    ['toString=true', /^unknown name "toString"; known: /],
    ['APIResponseCompression', /^"APIResponseCompression" is not NAME=true or NAME=false$/],
    ['APIResponseCompression=maybe', /is not NAME=true or NAME=false$/],
    ['=true', /is not NAME=true or NAME=false$/],
  ] as const) {
    it(`${value}: refused`, () => assert.throws(() => parse(value), { message }));
  }

  for (const name of publishedFeatureGates) {
    it(`${name} of kube-apiserver works, is accepted with a warning, or cannot be changed any more`, () => {
      const gate: FeatureGate | undefined = Object.hasOwn(featureGates, name)
        ? featureGates[name as FeatureName]
        : undefined;
      const set = (on: boolean) => ignoredGates(parse(`${name}=${on}`)).map((each) => [each.name, each.because]);
      if (gate && !gate.locked && gate.stage !== 'deprecated') {
        assert.deepEqual([set(true), set(false)], [[], []]);
        return;
      }
      const [[flag, because] = []] = set(gate ? gate.default : true);
      assert.equal(flag, `feature-gates=${name}`);
      assert.match(because ?? '', gate ? /will be removed in a future release$/ : /no such feature/);
      if (!gate) assert.equal(set(false).length, 1);
      else if (gate.locked) {
        const message = `cannot set feature gate ${name} to ${!gate.default}, feature is locked to ${gate.default}`;
        assert.throws(() => set(!gate.default), { message });
      }
    });
  }

  it('stable gates are locked, alpha ones off', () => {
    for (const [name, gate] of Object.entries<FeatureGate>(featureGates)) {
      if (gate.stage === 'stable') assert.deepEqual([gate.locked, gate.default], [true, true], name);
      else assert.equal(gate.locked, undefined, name);
      if (gate.stage === 'alpha') assert.equal(gate.default, false, name);
      assert.ok(publishedFeatureGates.has(name), name);
    }
  });

  for (const dialect of [orch, kubernetes]) {
    it(`${dialect.name}: a metric shows every gate with its stage`, () => {
      const metrics = new Metrics();
      featureMetrics(metrics, dialect, parse('AllAlpha=true,APIResponseCompression=false').features);
      const name = `${dialect.name}_feature_enabled`;
      const lines = metrics
        .render()
        .split('\n')
        .filter((line) => line.startsWith(`${name}{`));
      assert.equal(lines.length, Object.keys(featureGates).length);
      for (const line of [
        `${name}{name="RemoteRequestHeaderUID",stage="ALPHA"} 1`,
        `${name}{name="APIResponseCompression",stage="BETA"} 0`,
        `${name}{name="ServerSideApply",stage=""} 1`,
      ]) {
        assert.ok(lines.includes(line), line);
      }
    });
  }
});
