import { jsonText } from '../../base/json-text.ts';
import { parseYaml } from '../../codec/yaml.ts';
import { parseTime } from '../../meta/time.ts';
import { getOwn, isRecord } from '../../schema/own-property.ts';
import type { CredentialPlugin, KeyPairPem } from '../connection-config.ts';
import { fitsHeader } from '../header-encoding.ts';
import { bearer, type Credential } from './credentials.ts';
import { findKeyPairProblem } from './key-pair.ts';

/** Input of a plugin (spec section 5.6): an ExecCredential without status. */
export const execCredentialRequest = ({ apiVersion, cluster }: CredentialPlugin, interactive: boolean): string =>
  jsonText({ kind: 'ExecCredential', apiVersion, spec: { ...(cluster && { cluster }), interactive } });

export interface IssuedCredential {
  readonly credential: Credential;
  /** Wall-clock milliseconds; undefined if the plugin gave none. */
  readonly expiresAt: number | undefined;
}

/**
 * Parses a plugin's output (spec section 5.6). Throws unless it is an ExecCredential of exactly this version with a
 * token, a certificate with its key, or both. Error messages contain no part of the output except its kind and
 * version.
 */
export function readExecCredential(output: Uint8Array, apiVersion: string): IssuedCredential {
  const document = parse(output);
  checkType(document, apiVersion);
  const status = getOwn(document, 'status');
  if (!isRecord(status)) throw new Error('its answer has no status');
  const [token, certificate] = [readToken(status), readKeyPair(status)];
  if (token === undefined && !certificate) throw new Error('its answer has neither a token nor a certificate');
  return {
    credential: { ...(token !== undefined && { authorization: bearer(token) }), ...(certificate && { certificate }) },
    expiresAt: readExpiry(status),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function parse(output: Uint8Array): Fields {
  try {
    const { value } = parseYaml(output);
    if (isRecord(value)) return value;
  } catch {
    // The parser's message could quote its input, which is secret.
  }
  throw new Error('its answer is no object in JSON');
}

function checkType(document: Fields, apiVersion: string): void {
  const [kind, version] = [getOwn(document, 'kind'), getOwn(document, 'apiVersion')];
  if (kind !== 'ExecCredential') throw new Error(`its answer is not of kind ExecCredential but ${name(kind)}`);
  if (version !== apiVersion) throw new Error(`its answer is not of apiVersion ${apiVersion} but ${name(version)}`);
}

/** Maximum length of a valid kind or group version; anything longer is not shown. */
const nameLengthMax = 100;
const name = (value: unknown): string =>
  typeof value === 'string' && value.length <= nameLengthMax ? JSON.stringify(value) : 'something else';

function text(status: Fields, field: string): string | undefined {
  const value = getOwn(status, field) ?? '';
  if (typeof value !== 'string') throw new Error(`status.${field} of its answer is no text`);
  return value === '' ? undefined : value;
}

function readToken(status: Fields): string | undefined {
  const token = text(status, 'token');
  if (token === undefined || fitsHeader(token)) return token;
  throw new Error('status.token of its answer has characters that no header can carry');
}

function readKeyPair(status: Fields): KeyPairPem | undefined {
  const [certificate, key] = [text(status, 'clientCertificateData'), text(status, 'clientKeyData')];
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined || key === undefined) {
    throw new Error('its answer has only one of certificate and key');
  }
  const problem = findKeyPairProblem({ certificate, key });
  if (problem === undefined) return { certificate, key };
  throw new Error(`clientCertificateData and clientKeyData of its answer: ${problem}`);
}

function readExpiry(status: Fields): number | undefined {
  const value = getOwn(status, 'expirationTimestamp') ?? undefined;
  if (value === undefined) return undefined;
  const time = typeof value === 'string' ? parseTime(value) : undefined;
  if (time !== undefined) return time;
  throw new Error('status.expirationTimestamp of its answer is no RFC 3339 time');
}
