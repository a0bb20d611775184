import { readConfiguration, requireNoErrors } from '../../codec/configuration-document.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { int32, ptr, string, struct } from '../../schema/schema.ts';

/** Where traces go, and of how many requests there are any. */
export interface TracingSettings {
  readonly endpoint: CollectorEndpoint;
  /** Requests of a million that are recorded; 0: only those of a trace that may be continued. */
  readonly samplingRatePerMillion: number;
}

/** Where a collector listens for OTLP over gRPC, without TLS. */
export type CollectorEndpoint =
  | { readonly type: 'tcp'; readonly authority: string }
  | { readonly type: 'unix'; readonly path: string };

const tracingConfiguration = struct('api.apiserver.v1.TracingConfiguration', 'Where traces go.', {
  endpoint: ptr(1, string(), 'Address of the collector.'),
  samplingRatePerMillion: ptr(2, int32(), 'Requests of a million that are recorded.'),
});

const defaultEndpoint = 'localhost:4317';
const rateMax = 1_000_000;

/**
 * Reads the file of `--tracing-config-file`: a TracingConfiguration in YAML or JSON, version `v1beta1` or `v1alpha1` (both
 * with the same fields). Throws a ConfigurationError that names every invalid field.
 */
export function readTracingConfiguration(content: Uint8Array, dialect: Dialect): TracingSettings {
  const group = dialect.group('apiserver.config');
  const { endpoint = defaultEndpoint, samplingRatePerMillion = 0 } = readConfiguration(content, {
    kind: 'TracingConfiguration',
    apiVersions: ['v1beta1', 'v1alpha1'].map((version) => `${group}/${version}`),
    schema: tracingConfiguration,
  });
  const found = parseEndpoint(endpoint);
  requireNoErrors([...rateErrors(samplingRatePerMillion), ...('error' in found ? [found.error] : [])]);
  return { endpoint: (found as { readonly endpoint: CollectorEndpoint }).endpoint, samplingRatePerMillion };
}

/** In the words of kube-apiserver. */
function rateErrors(rate: number): readonly FieldError[] {
  const field = 'samplingRatePerMillion';
  if (rate < 0) return [invalid(field, rate, 'sampling rate must be positive')];
  if (rate <= rateMax) return [];
  return [invalid(field, rate, 'sampling rate per million must be less than or equal to one million')];
}

type ParsedEndpoint = { readonly endpoint: CollectorEndpoint } | { readonly error: FieldError };

/** The names of gRPC: `HOST:PORT`, `dns:HOST:PORT`, `dns:///HOST:PORT`, `unix:PATH`, `unix:///PATH`. */
function parseEndpoint(text: string): ParsedEndpoint {
  const fail = (problem: string): ParsedEndpoint => ({ error: invalid('endpoint', masked(text), problem) });
  const [, scheme, rest = ''] =
    /^([A-Za-z][A-Za-z0-9+.-]*):(\/\/.*)$/.exec(text) ?? /^(dns|unix):(.*)$/.exec(text) ?? [];
  if (scheme === 'unix') {
    const path = rest.replace(/^\/\//, '');
    return path.startsWith('/') ? { endpoint: { type: 'unix', path } } : fail('the path of a socket must be absolute');
  }
  if (scheme !== undefined && scheme !== 'dns') {
    const seen = 'See https://github.com/grpc/grpc/blob/master/doc/naming.md';
    return fail(`unsupported scheme: ${scheme}.  Options are none, dns, or unix.  ${seen}`);
  }
  const authority = scheme === undefined ? text : rest.replace(/^\/\/[^/]*\/(?=.)/, '').replace(/^\/\//, '');
  return isAuthority(authority) ? { endpoint: { type: 'tcp', authority } } : fail('must be of the form HOST:PORT');
}

/** Who writes a user into the address writes a password there, too. */
const masked = (text: string): string => text.replace(/^([A-Za-z][A-Za-z0-9+.-]*:\/{2,3})?.*@/s, '$1***@');

function isAuthority(text: string): boolean {
  if (!/^[^\s/?#@\\]+$/.test(text) || !URL.canParse(`https://${text}`)) return false;
  const { hostname, port } = new URL(`http://${text}`);
  return hostname !== '' && port !== '0';
}
