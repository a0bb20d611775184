import { CertificationRequest } from '@peculiar/asn1-csr';
import { Extensions } from '@peculiar/asn1-x509';
import { AsnConvert } from './asn1-schema.ts';

/** The parser of certificate requests, in a file of its own so that it can be loaded with the first one. */

export const parseRequest = (der: Uint8Array): CertificationRequest => AsnConvert.parse(der, CertificationRequest);

/** The value of an attribute that requests extensions (RFC 2985 section 5.4.2). */
export const parseExtensions = (der: ArrayBuffer): Extensions => AsnConvert.parse(der, Extensions);
