import { isUtf8 } from 'node:buffer';

const beyondAscii = /[^\0-\x7f]/;
const beyondBytes = /[^\0-\xff]/;

/**
 * Decodes a header value as UTF-8. The HTTP layer gives one character per byte, but user and group names are sent as
 * UTF-8 and must equal the names in objects and tokens. Undefined if the bytes are not UTF-8.
 */
export function decodeHeaderText(value: string): string | undefined {
  // Characters above U+00FF did not come from a header, so the value needs no decoding.
  if (!beyondAscii.test(value) || beyondBytes.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : undefined;
}

/** The same for what is only shown or recorded: what is not UTF-8 becomes U+FFFD, as in kube-apiserver. */
export const shownHeaderText = (value: string): string =>
  decodeHeaderText(value) ?? Buffer.from(value, 'latin1').toString();
