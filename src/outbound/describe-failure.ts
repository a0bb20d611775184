import { ipVersion } from '../base/ip-version.ts';
import { limits } from '../base/limits.ts';
import { quoted } from './describe-answer.ts';

/** What the runtime says of a failed connection, beside its message. */
interface Failure extends Error {
  readonly code?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  readonly hostname?: unknown;
  /** Of a certificate for other names. */
  readonly host?: unknown;
  readonly cert?: { readonly subjectaltname?: string };
  /** Of an answer that is not HTTP. */
  readonly rawPacket?: unknown;
}

/** The body of an answer could not be read to its end. Has the message and the code of its cause. */
export class UnreadBody extends Error {
  readonly code: unknown;

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'UnreadBody';
    this.code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  }
}

/** Why a request has no answer, for clients and operators: in the words of Go, which they know, where it has some. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof UnreadBody) {
    const why = describeFailure(error.cause);
    const end = why === 'EOF' ? 'unexpected EOF' : why;
    return `unexpected error when reading response body. Please retry. Original error: ${end}`;
  }
  const failure: Failure = error;
  // Several addresses were tried: the first is told.
  if (error instanceof AggregateError && error.errors.length > 0) return describeFailure(error.errors[0]);
  const { code, message } = failure;
  if (typeof code !== 'string') return message;
  if (code.startsWith('HPE_')) return `net/http: HTTP/1.x transport connection broken: ${malformed(failure)}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return unverified(otherNames(failure));
  const mistrust = certificateProblems[code];
  if (mistrust !== undefined) return unverified(mistrust);
  const unreached = connectProblems[code];
  if (unreached !== undefined && failure.address !== undefined) {
    const address = String(failure.address);
    return `dial tcp ${ipVersion(address) === 6 ? `[${address}]` : address}:${failure.port}: connect: ${unreached}`;
  }
  const unresolved = lookupProblems[code];
  if (unresolved !== undefined) return `dial tcp: lookup ${failure.hostname}: ${unresolved}`;
  return brokenConnections[code]?.(message) ?? message;
}

/** Whether a connection failed because the certificate of the other side does not hold. */
export const isMistrust = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'ERR_TLS_CERT_ALTNAME_INVALID' || Object.hasOwn(certificateProblems, String(error.code)));

const unverified = (problem: string): string => `tls: failed to verify certificate: x509: ${problem}`;

const unknownAuthority = 'certificate signed by unknown authority';
const notInTime = 'certificate has expired or is not yet valid';

/** By the names of OpenSSL, as the runtime gives them. */
const certificateProblems: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: notInTime,
  CERT_NOT_YET_VALID: notInTime,
  CERT_SIGNATURE_FAILURE: unknownAuthority,
  CERT_UNTRUSTED: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  INVALID_PURPOSE: 'certificate specifies an incompatible key usage',
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
};

const connectProblems: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'connection timed out',
};

const lookupProblems: Readonly<Record<string, string>> = {
  EAI_AGAIN: 'server misbehaving',
  ENOTFOUND: 'no such host',
};

const notTls = (): string => 'tls: first record does not look like a TLS handshake';

/** By code; each is given the runtime's message. */
const brokenConnections: Readonly<Record<string, (message: string) => string>> = {
  ECONNRESET: (message) => {
    if (message === 'aborted') return 'unexpected EOF';
    return message.includes('ECONNRESET') ? 'read: connection reset by peer' : 'EOF';
  },
  // `Stream closed with error code NGHTTP2_INTERNAL_ERROR`
  ERR_HTTP2_STREAM_ERROR: (message) =>
    `stream error: ${/NGHTTP2_(\w+)/.exec(message)?.[1] ?? 'unknown'}; received from peer`,
  EPIPE: () => 'write: broken pipe',
  EPROTO: notTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: notTls,
  ERR_SSL_WRONG_VERSION_NUMBER: notTls,
};

function otherNames({ host, cert }: Failure): string {
  const wanted = String(host);
  const names = (cert?.subjectaltname ?? '').split(', ');
  const namesOf = (type: string): string =>
    names
      .filter((name) => name.startsWith(type))
      .map((name) => name.slice(type.length))
      .join(', ')
      .slice(0, limits.webhookErrorLengthMax);
  const isAddress = ipVersion(wanted) !== 0;
  const valid = namesOf(isAddress ? 'IP Address:' : 'DNS:');
  if (valid !== '') return `certificate is valid for ${valid}, not ${wanted}`;
  return isAddress
    ? `cannot validate certificate for ${wanted} because it doesn't contain any IP SANs`
    : `certificate is not valid for any names, but wanted to match ${wanted}`;
}

/** Quotes the first line, where that is what is wrong. */
function malformed({ rawPacket }: Failure): string {
  const packet = Buffer.isBuffer(rawPacket) ? rawPacket.subarray(0, limits.webhookErrorLengthMax).toString() : '';
  const [line = ''] = packet.split(/\r?\n/, 1);
  return line.startsWith('HTTP/1.') ? 'malformed MIME header' : `malformed HTTP response ${quoted(line)}`;
}
