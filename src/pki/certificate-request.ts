import type { CertificationRequest } from '@peculiar/asn1-csr';
import type { AttributeValue } from '@peculiar/asn1-x509';
import { readAll } from './der.ts';

const label = 'CERTIFICATE REQUEST';
const begin = '-----BEGIN ';
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** id-at-commonName, RFC 5280 appendix A.1. */
const commonNameId = '2.5.4.3';

/**
 * The common name in the subject of a certificate signing request (RFC 2986, PEM); '' if there is none. Rejects if the
 * text is not exactly one request, or if it has several common names, since readers differ in which one counts. Does
 * not verify the signature or check anything else.
 */
export async function commonNameOfRequest(pem: string): Promise<string> {
  const { certificationRequestInfo } = await parseRequest(derOf(pem));
  const names = certificationRequestInfo.subject.flatMap((relativeName) =>
    relativeName.filter(({ type }) => type === commonNameId).map(({ value }) => textOf(value)),
  );
  if (names.length > 1) throw new Error('the subject has more than one common name');
  return names[0] ?? '';
}

/** Decodes the single PEM block of a text. Linear in the length of the text, which the sender controls. */
function derOf(pem: string): Buffer {
  const [head, tail] = [`${begin}${label}-----`, `-----END ${label}-----`];
  const start = pem.indexOf(begin);
  const end = pem.indexOf(tail, start);
  if (start < 0 || end < 0 || !pem.startsWith(head, start) || pem.indexOf(begin, start + 1) >= 0) {
    throw new Error(`PEM block type must be ${label}, and there must be one`);
  }
  const text = pem.slice(start + head.length, end).replaceAll(/\s+/g, '');
  if (!base64.test(text)) throw new Error('the PEM block is not base64');
  return Buffer.from(text, 'base64');
}

/** Requests are rare, so the parser is loaded with the first one. */
async function parseRequest(der: Buffer): Promise<CertificationRequest> {
  const [{ CertificationRequest }, { AsnConvert }] = await Promise.all([
    import('@peculiar/asn1-csr'),
    import('@peculiar/asn1-schema'),
  ]);
  try {
    if (readAll(der).length !== 1) throw new RangeError('DER: bytes after the request');
    return AsnConvert.parse(der, CertificationRequest);
  } catch (cause) {
    throw new Error('the certificate request is not valid DER', { cause });
  }
}

function textOf(value: AttributeValue): string {
  if (value.anyValue) throw new Error('the certificate request is not valid DER: the common name is not text');
  return value.toString();
}
