import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { publishedFeatureGates } from '../../dialect/published-feature-gates.ts';
import { defaultFeatures, type Features, featureGates } from '../../server/wiring/features.ts';
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
    it(`${name} of kube-apiserver works or is accepted with a warning`, () => {
      const ignored = ignoredGates(parse(`${name}=true`, `${name}=false`)).map((each) => each.name);
      assert.deepEqual(ignored, Object.hasOwn(featureGates, name) ? [] : [`feature-gates=${name}`]);
    });
  }
});
