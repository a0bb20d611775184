import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigurationError } from '../../codec/configuration-document.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { readTracingConfiguration, type TracingSettings } from './tracing-configuration.ts';

const head = { apiVersion: 'apiserver.config.orch.io/v1beta1', kind: 'TracingConfiguration' };
const read = (fields: object): TracingSettings =>
  readTracingConfiguration(Buffer.from(JSON.stringify({ ...head, ...fields })), orch);
const tcp = (authority: string) => ({ type: 'tcp', authority });
const unix = (path: string) => ({ type: 'unix', path });

describe('a TracingConfiguration', () => {
  it('is YAML or JSON, of both versions, in the group of the dialect', () => {
    for (const version of ['v1alpha1', 'v1beta1']) {
      for (const [dialect, group] of [
        [orch, 'apiserver.config.orch.io'],
        [kubernetes, 'apiserver.config.k8s.io'],
      ] as const) {
        const text = `apiVersion: ${group}/${version}\nkind: TracingConfiguration\nsamplingRatePerMillion: 100\n`;
        assert.deepEqual(readTracingConfiguration(Buffer.from(text), dialect), {
          endpoint: tcp('localhost:4317'),
          samplingRatePerMillion: 100,
        });
      }
    }
  });

  it('records nothing by itself without a rate, and all at a million', () => {
    assert.equal(read({}).samplingRatePerMillion, 0);
    assert.equal(read({ samplingRatePerMillion: null }).samplingRatePerMillion, 0);
    assert.equal(read({ samplingRatePerMillion: 1_000_000 }).samplingRatePerMillion, 1_000_000);
  });

  const endpoints: readonly (readonly [text: string, endpoint: object])[] = [
    ['localhost:4317', tcp('localhost:4317')],
    ['collector', tcp('collector')],
    ['10.0.0.1:80', tcp('10.0.0.1:80')],
    ['[::1]:4317', tcp('[::1]:4317')],
    ['dns:collector.example:4317', tcp('collector.example:4317')],
    ['dns://collector.example:4317', tcp('collector.example:4317')],
    ['dns:///collector.example:4317', tcp('collector.example:4317')],
    ['dns://10.0.0.10/collector.example:4317', tcp('collector.example:4317')],
    ['unix:/run/collector', unix('/run/collector')],
    ['unix:///run/collector', unix('/run/collector')],
  ];
  for (const [text, endpoint] of endpoints) {
    it(`names the collector as ${text}`, () => assert.deepEqual(read({ endpoint: text }).endpoint, endpoint));
  }
});

const scheme = (text: string): string =>
  `unsupported scheme: ${text}.  Options are none, dns, or unix.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`;
const form = 'must be of the form HOST:PORT';

/** What is wrong, and what is said of it. */
const wrong: readonly (readonly [text: string | object, problems: readonly string[]])[] = [
  [{ samplingRatePerMillion: -1 }, ['samplingRatePerMillion: Invalid value: -1: sampling rate must be positive']],
  [
    { samplingRatePerMillion: 1_000_001 },
    [
      'samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million',
    ],
  ],
  [
    { samplingRatePerMillion: 2 ** 31 },
    ['samplingRatePerMillion: expected integer in the range of int32, got 2147483648'],
  ],
  [{ samplingRatePerMillion: 0.5 }, ['samplingRatePerMillion: expected integer, got 0.5']],
  [{ samplingRatePerMillion: '1' }, ['samplingRatePerMillion: expected integer, got string']],
  [{ endpoint: 1 }, ['endpoint: expected string, got number']],
  [{ sampling: 1 }, ['unknown field "sampling"']],
  ...['http://a:1', 'https://a:1', 'unix-abstract://a', 'ipv4://a'].map(
    (endpoint) =>
      [{ endpoint }, [`endpoint: Invalid value: "${endpoint}": ${scheme(endpoint.split(':', 1)[0] ?? '')}`]] as const,
  ),
  ...['', ' ', 'a b', 'a:port', 'a:99999', 'a:0', 'a:1/v1/traces', 'a:1?b', ':1', 'dns://', 'dns:///'].map(
    (endpoint) => [{ endpoint }, [`endpoint: Invalid value: "${endpoint}": ${form}`]] as const,
  ),
  ...[
    ['a@b:1', '***@b:1'],
    ['jane:pass/w@rd@b:1', '***@b:1'],
    ['dns:///jane:password@b:1', 'dns:///***@b:1'],
  ].map(([endpoint, shown]) => [{ endpoint }, [`endpoint: Invalid value: "${shown}": ${form}`]] as const),
  [{ endpoint: 'http://jane:password@b:1' }, [`endpoint: Invalid value: "http://***@b:1": ${scheme('http')}`]],
  [{ endpoint: 'unix:here' }, ['endpoint: Invalid value: "unix:here": the path of a socket must be absolute']],
  [
    { samplingRatePerMillion: -1, endpoint: '' },
    [
      'samplingRatePerMillion: Invalid value: -1: sampling rate must be positive',
      `endpoint: Invalid value: "": ${form}`,
    ],
  ],
  [
    { apiVersion: 'apiserver.config.k8s.io/v1beta1' },
    [
      'apiVersion: Unsupported value: "apiserver.config.k8s.io/v1beta1": supported values: "apiserver.config.orch.io/v1beta1", "apiserver.config.orch.io/v1alpha1"',
    ],
  ],
  [{ kind: 'Tracing' }, ['kind: Unsupported value: "Tracing": supported values: "TracingConfiguration"']],
  ['[]', ['expected an object of kind TracingConfiguration']],
];

describe('refused is', () => {
  for (const [text, problems] of wrong) {
    it(JSON.stringify(text), () => {
      const bytes = typeof text === 'string' ? text : JSON.stringify({ ...head, ...text });
      assert.throws(
        () => readTracingConfiguration(Buffer.from(bytes), orch),
        (error) => {
          assert.ok(error instanceof ConfigurationError);
          assert.deepEqual(error.problems, problems);
          return true;
        },
      );
    });
  }

  it('what is no YAML, with its line', () => {
    const text = Buffer.from('apiVersion: a\nkind: [\n');
    assert.throws(() => readTracingConfiguration(text, orch), /line 3/);
  });
});
