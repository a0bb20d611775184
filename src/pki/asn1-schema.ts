/** The lower half of the parser of certificate requests, which is loaded in a turn of its own. */
export { AsnConvert } from '@peculiar/asn1-schema';
