import { boundedMemo } from '../../base/collections/bounded-memo.ts';

/** The invalid part of a field. */
type FieldFault = 'name' | 'value';

/** A header field of an HTTP/2 message. References to the same table entry share one object. */
export interface HeaderField {
  readonly name: string;
  /** One character per byte; without surrounding spaces and tabs, as in HTTP/1.1 (RFC 9112 section 5.1). */
  readonly value: string;
  /** Its size in a table or header list, as sent (RFC 7541 section 4.1). */
  readonly size: number;
  readonly pseudo: boolean;
  /**
   * The field is malformed (RFC 9113 section 8.2.1). The request must be refused: without the field it would be a
   * different request, possibly by a different user.
   */
  readonly fault: FieldFault | undefined;
}

/** RFC 9110 section 5.6.2, without upper-case letters, which HTTP/2 forbids in names. */
const validName = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/** Anything but spaces, tabs, visible characters, and bytes from 0x80 on (RFC 9110 section 5.5). */
const invalidValue = /[^\t\x20-\x7e\x80-\xff]/;

const isValidName = boundedMemo((name) => validName.test(name), { countMax: 1_024, lengthMax: 64 });

/** A field as sent: each byte of name and value as one character. */
export function headerField(name: string, sent: string): HeaderField {
  const value = trimmed(sent);
  const pseudo = name.charCodeAt(0) === colon;
  let fault: FieldFault | undefined;
  if (!isValidName(name)) fault = 'name';
  // Pseudo-header fields form the request line, which has no optional whitespace.
  else if (invalidValue.test(value) || (pseudo && value.length !== sent.length)) fault = 'value';
  return { name, value, size: name.length + sent.length + 32, pseudo, fault };
}

const colon = 0x3a;

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

function trimmed(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  return to - from === text.length ? text : text.slice(from, to);
}
