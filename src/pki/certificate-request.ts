import { isAscii } from 'node:buffer';
import type { KeyObject } from 'node:crypto';
import { SocketAddress } from 'node:net';
import type { CertificationRequest } from '@peculiar/asn1-csr';
import type { AttributeValue, Name } from '@peculiar/asn1-x509';
import { boundedMemo } from '../base/collections/bounded-memo.ts';
import { limits } from '../base/limits.ts';
import { loadedOnce } from '../base/loaded-once.ts';
import { inOwnTurn } from '../base/time/turns.ts';
import { readAlgorithm } from './algorithm-identifier.ts';
import { requireDer } from './canonical-der.ts';
import { decodePem } from './decode-pem.ts';
import { type DerValue, readAll } from './der.ts';
import { readPublicKey } from './request-public-key.ts';
import { signatureProblem } from './request-signature.ts';

/** A certificate signing request (RFC 2986), limited to what signers and admission decide by. */
export interface CertificateRequest {
  /** The subject as DER, to be copied into a certificate byte for byte. */
  readonly subjectDer: Buffer;
  /** All common names, in order, whatever their string type. */
  readonly commonNames: readonly string[];
  /** All organization names, in order, whatever their string type. */
  readonly organizations: readonly string[];
  readonly publicKey: KeyObject;
  /** Requested subject alternative names. Names of other types are left out, as they are never issued. */
  readonly dnsNames: readonly string[];
  /** In their shortest text form. */
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
  /** Why the signature does not prove possession of the private key; undefined if it does. */
  readonly signatureProblem: string | undefined;
}

const label = 'CERTIFICATE REQUEST';

const ids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  extensionRequest: '1.2.840.113549.1.9.14',
  subjectAlternativeName: '2.5.29.17',
} as const;

/**
 * Reads the first block of a PEM text, which must be a certificate request. Rejects with an Error that says what is
 * wrong, in the words of kube-apiserver where it has some. A bad signature is no error here: see `signatureProblem`.
 * Callers share the result: admission, validation, approvers and signers read the same text one after another.
 */
export async function readCertificateRequest(pem: string | Uint8Array): Promise<CertificateRequest> {
  requireSize(pem.length, limits.certificateRequestTextMax);
  return readingOf(typeof pem === 'string' ? pem : Buffer.from(pem).toString('latin1'))();
}

/** Texts, each read by whoever asks first. */
const readingOf = boundedMemo((text: string) => loadedOnce(() => readText(text)), {
  countMax: limits.certificateRequestsKeptMax,
  lengthMax: limits.certificateRequestKeptLengthMax,
});

async function readText(text: string): Promise<CertificateRequest> {
  const parser = await loadParser();
  // Requests that come together, or have waited for the parser together, would all be read in one turn.
  await ownTurn();
  const [block] = decodePem(text);
  if (block?.label !== label) throw new Error(`PEM block type must be ${label}`);
  const der = block.bytes;
  requireSize(der.length, limits.certificateRequestBytesMax);
  requireRequest(der);
  return readRequest(der, parser);
}

/**
 * The common name in the subject of a certificate request (PEM); '' if there is none. Rejects if there are several, since
 * readers differ in which one counts.
 */
export async function commonNameOfRequest(pem: string | Uint8Array): Promise<string> {
  const { commonNames } = await readCertificateRequest(pem);
  if (commonNames.length > 1) throw new Error('the subject has more than one common name');
  return commonNames[0] ?? '';
}

function requireSize(size: number, max: number): void {
  if (size > max) throw new Error(`the certificate request is larger than ${max} bytes`);
}

function requireRequest(der: Buffer): void {
  try {
    requireDer(der, { valuesMax: limits.certificateRequestValuesMax, depthMax: limits.derDepthMax });
  } catch (error) {
    throw malformed(error);
  }
}

const malformed = (cause: unknown): Error =>
  new Error(`asn1: ${cause instanceof RangeError ? `syntax error: ${cause.message}` : 'structure error'}`, { cause });

type Parser = typeof import('./request-parser.ts');

/** Requests are rare, so the parser is loaded with the first one: half of it, the rest, and its first use take a turn each. */
const loadParser = loadedOnce(async (): Promise<Parser> => {
  await import('./asn1-schema.ts');
  await ownTurn();
  const parser = await import('./request-parser.ts');
  await ownTurn();
  return parser;
});

const ownTurn = (): Promise<void> => new Promise((resolve) => inOwnTurn(resolve));

function readRequest(der: Buffer, parser: Parser): CertificateRequest {
  const parsed = parse(() => parser.parseRequest(der));
  const { certificationRequestInfo: info } = parsed;
  const { content, subject, publicKey, algorithm, signature } = partsOf(der);
  const key = readPublicKey(publicKey);
  return {
    subjectDer: subject,
    ...namesOf(info.subject),
    publicKey: key,
    ...alternativeNames(parsed, parser),
    signatureProblem: signatureProblem(key, { algorithm, signature, content }),
  };
}

function parse<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw malformed(error);
  }
}

const tags = { integer: 0x02, bitString: 0x03, objectId: 0x06, sequence: 0x30, set: 0x31, attributes: 0xa0 } as const;

/** The parts that count byte for byte. Numbers and tags of elements are checked here: the parser is lenient with both. */
function partsOf(der: Buffer) {
  const [request] = elements(der, [tags.sequence]);
  const [info, algorithm, bits] = elements(request?.content, [tags.sequence, tags.sequence, tags.bitString]);
  const infoTags = [tags.integer, tags.sequence, tags.sequence, tags.attributes];
  const [, subject, publicKey] = elements(info?.content, infoTags, { optional: 1 });
  if (!info || !algorithm || !subject || !publicKey || bits?.content[0] !== 0) throw malformed(undefined);
  requireName(subject);
  const signature = bits.content.subarray(1);
  return { content: info.whole, subject: subject.whole, publicKey, algorithm: readAlgorithm(algorithm), signature };
}

/** Whoever reads the certificate that the subject is copied to must find the names that are found here. */
function requireName(subject: DerValue): void {
  for (const relativeName of readAll(subject.content)) {
    const attributes = readAll(relativeName.content);
    if (relativeName.tag !== tags.set || attributes.length === 0) throw malformed(undefined);
    for (const { tag, content } of attributes) {
      const [type, value, ...others] = readAll(content);
      const isAttribute = tag === tags.sequence && type?.tag === tags.objectId && value && others.length === 0;
      if (!isAttribute) throw malformed(undefined);
    }
  }
}

/** The values in `content`, which must have these tags; as many of the last ones as are `optional` may be absent. */
function elements(
  content: Buffer | undefined,
  expected: readonly number[],
  { optional = 0 } = {},
): readonly DerValue[] {
  const found = content ? readAll(content) : [];
  const isExpected = found.length <= expected.length && found.every(({ tag }, at) => tag === expected[at]);
  if (!isExpected || found.length < expected.length - optional) throw malformed(undefined);
  return found;
}

function namesOf(subject: Name): Pick<CertificateRequest, 'commonNames' | 'organizations'> {
  const attributes = Array.from(subject).flatMap((relativeName) => Array.from(relativeName));
  const ofType = (id: string): string[] =>
    attributes.filter(({ type }) => type === id).map(({ value }) => textOf(value));
  return { commonNames: ofType(ids.commonName), organizations: ofType(ids.organization) };
}

/** String types that the parser leaves encoded: NumericString, VisibleString, GeneralString. */
const plainStrings: ReadonlySet<number | undefined> = new Set([0x12, 0x1a, 0x1b]);

function textOf(value: AttributeValue): string {
  if (!value.anyValue) {
    const text = value.toString();
    if (!text.isWellFormed()) throw notText();
    return text;
  }
  const [{ tag, content } = {}] = readAll(Buffer.from(value.anyValue));
  if (!plainStrings.has(tag) || !content) throw notText();
  return content.toString('latin1');
}

const notText = (): Error => new Error('x509: the subject has a name that is not text');

type AlternativeNames = Pick<CertificateRequest, 'dnsNames' | 'ipAddresses' | 'emailAddresses' | 'uris'>;

function alternativeNames({ certificationRequestInfo }: CertificationRequest, parser: Parser): AlternativeNames {
  const requested = Array.from(certificationRequestInfo.attributes)
    .filter(({ type }) => type === ids.extensionRequest)
    .flatMap(({ values: [extensions] }) =>
      extensions ? Array.from(parse(() => parser.parseExtensions(extensions))) : [],
    );
  if (new Set(requested.map(({ extnID }) => extnID)).size < requested.length) {
    throw new Error('x509: certificate request contains duplicate requested extensions');
  }
  const extension = requested.find(({ extnID }) => extnID === ids.subjectAlternativeName);
  const names = extension ? readNames(Buffer.from(extension.extnValue.buffer)) : [];
  const ofTag = (wanted: number): Buffer[] => names.filter(({ tag }) => tag === wanted).map(({ content }) => content);
  return {
    dnsNames: ofTag(nameTags.dns).map(asciiText),
    ipAddresses: ofTag(nameTags.ip).map(ipText),
    emailAddresses: ofTag(nameTags.email).map(asciiText),
    uris: ofTag(nameTags.uri).map(asciiText),
  };
}

/** Tags of alternative names (RFC 5280 section 4.2.1.6). */
const nameTags = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const;

/** Read without the parser, which takes 20 microseconds for each name. */
function readNames(der: Buffer): readonly DerValue[] {
  requireRequest(der);
  const [list] = readAll(der);
  if (list?.tag !== 0x30) throw new Error('x509: invalid subject alternative names');
  const names = readAll(list.content);
  for (const { tag, content } of names) {
    if (tag === nameTags.ip && content.length !== 4 && content.length !== 16) {
      throw new Error(`x509: cannot parse IP address of length ${content.length}`);
    }
  }
  return names;
}

function ipText(content: Buffer): string {
  if (content.length === 4) return content.join('.');
  const groups = content.toString('hex').replaceAll(/.{4}(?=.)/g, '$&:');
  return new SocketAddress({ address: groups, family: 'ipv6' }).address;
}

function asciiText(content: Buffer): string {
  if (!isAscii(content)) throw new Error('x509: SAN is not an ASCII string');
  return content.toString('latin1');
}
