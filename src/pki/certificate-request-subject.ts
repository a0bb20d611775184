import { type DerValue, readAll } from './der.ts';

const label = 'CERTIFICATE REQUEST';
const begin = '-----BEGIN ';
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

const sequenceTag = 0x30;
const setTag = 0x31;
/** 2.5.4.3, as RFC 5280 appendix A.1 has it. */
const commonNameId = Buffer.from([0x55, 0x04, 0x03]);
/** UTF8String, PrintableString, IA5String. */
const textTags: ReadonlySet<number> = new Set([0x0c, 0x13, 0x16]);

/**
 * The common name of the subject of a certificate request (RFC 2986, in PEM), '' where there is none. Throws where the text is
 * not one request, and where there is more than one common name: readers differ in which of them counts. Neither the
 * signature nor anything else of the request is checked.
 */
export function commonNameOfRequest(pem: string): string {
  const der = Buffer.from(blockOf(pem), 'base64');
  let names: readonly string[];
  try {
    names = commonNames(der);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Error('the certificate request is not valid DER', { cause: error });
  }
  if (names.length > 1) throw new Error('the subject has more than one common name');
  return names[0] ?? '';
}

/** What stands in the one block of a text, without line breaks. */
function blockOf(pem: string): string {
  const [head, tail] = [`${begin}${label}-----`, `-----END ${label}-----`];
  const start = pem.indexOf(begin);
  const end = pem.indexOf(tail, start);
  if (start < 0 || end < 0 || !pem.startsWith(head, start) || pem.indexOf(begin, start + 1) >= 0) {
    throw new Error(`PEM block type must be ${label}, and there must be one`);
  }
  const text = pem.slice(start + head.length, end).replaceAll(/\s+/g, '');
  if (!base64.test(text)) throw new Error('the PEM block is not base64');
  return text;
}

function commonNames(der: Buffer): readonly string[] {
  const [request, ...after] = readAll(der);
  if (after.length > 0) throw new RangeError('DER: bytes after the request');
  const [info] = within(request, sequenceTag);
  const [, subject] = within(info, sequenceTag);
  return within(subject, sequenceTag)
    .flatMap((relativeName) => within(relativeName, setTag))
    .flatMap((attribute) => {
      const [id, value] = within(attribute, sequenceTag);
      return id?.content.equals(commonNameId) ? [textOf(value)] : [];
    });
}

function within(value: DerValue | undefined, tag: number): readonly DerValue[] {
  if (value?.tag !== tag) throw new RangeError('DER: a value is not of the type that it should be');
  return readAll(value.content);
}

function textOf(value: DerValue | undefined): string {
  if (!value || !textTags.has(value.tag)) throw new RangeError('DER: the common name is no text');
  return new TextDecoder('utf-8', { fatal: false }).decode(value.content);
}
