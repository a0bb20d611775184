import { isHost } from '../ambiguous-fields.ts';
import type { HeaderField } from './header-field.ts';

/** Why a request must be refused although its headers were readable. */
type HeadProblem =
  /** RFC 9113 section 8.1.1; the message names the problem and contains no value. */
  { readonly kind: 'malformed'; readonly message: string } | { readonly kind: 'tooLarge' };

/** The header section of a request (RFC 9113 section 8.3.1). */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  /** '' if none was sent. */
  readonly authority: string;
  /** All fields except pseudo-header fields, in the order received. Complete unless there is a problem. */
  readonly fields: readonly HeaderField[];
  /** Value of Content-Length. */
  readonly contentLength: number | undefined;
  readonly problem: HeadProblem | undefined;
}

/** Connection-specific fields of HTTP/1.1, which HTTP/2 forbids (RFC 9113 section 8.2.2). */
const ofConnections: ReadonlySet<string> = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/** RFC 9110 section 5.6.2. */
const validMethod = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** The characters allowed in an HTTP/1.1 request line: no spaces, ASCII only (RFC 9112 section 3.2). */
const validTarget = /^[\x21-\x7e]+$/;
const validLength = /^\d{1,15}$/;

/** Builds request heads from their fields, one after another. */
export class RequestHeadBuilder {
  readonly #bytesMax: number;
  #method: string | undefined;
  #scheme: string | undefined;
  #path: string | undefined;
  #authority: string | undefined;
  #contentLength: number | undefined;
  #host: string | undefined;
  #credential = false;
  #fields: HeaderField[] = [];
  #bytes = 0;
  #message: string | undefined;

  /** `bytesMax` limits a head, in the units of RFC 9113 section 6.5.2. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  readonly add = (field: HeaderField): void => {
    this.#bytes += field.size;
    if (this.#bytes > this.#bytesMax) {
      // Excess fields are still decoded, to keep the HPACK table in sync, but not kept.
      this.#fields.length = 0;
      return;
    }
    if (field.fault) this.#refuse(faultMessage(field));
    else if (field.pseudo) this.#addPseudo(field);
    else {
      this.#check(field);
      this.#fields.push(field);
    }
  };

  /** Returns the head of all fields since the last call. `ended` if the request has no body. */
  finish(ended: boolean): RequestHead {
    const tooLarge = this.#bytes > this.#bytesMax;
    if (!tooLarge) this.#checkWhole(ended);
    const message = this.#message;
    const head: RequestHead = {
      method: this.#method ?? '',
      path: this.#path ?? '',
      authority: this.#authority ?? '',
      fields: this.#fields,
      contentLength: this.#contentLength,
      problem: tooLarge ? { kind: 'tooLarge' } : message === undefined ? undefined : { kind: 'malformed', message },
    };
    this.#method = undefined;
    this.#scheme = undefined;
    this.#path = undefined;
    this.#authority = undefined;
    this.#contentLength = undefined;
    this.#host = undefined;
    this.#credential = false;
    this.#fields = [];
    this.#bytes = 0;
    this.#message = undefined;
    return head;
  }

  /** Only the first problem is reported. */
  #refuse(message: string): void {
    this.#message ??= message;
  }

  #addPseudo({ name, value }: HeaderField): void {
    if (this.#fields.length > 0) this.#refuse(`${name} must stand before all header fields`);
    switch (name) {
      case ':method':
        if (this.#method !== undefined) this.#refuse(twice(name));
        if (!validMethod.test(value)) this.#refuse(':method is not a method');
        this.#method = value;
        return;
      case ':path':
        if (this.#path !== undefined) this.#refuse(twice(name));
        if (!validTarget.test(value)) this.#refuse(':path is not the target of a request');
        this.#path = value;
        return;
      case ':scheme':
        if (this.#scheme !== undefined) this.#refuse(twice(name));
        this.#scheme = value;
        return;
      case ':authority':
        if (this.#authority !== undefined) this.#refuse(twice(name));
        if (!isHost(value)) this.#refuse(':authority is not a host');
        this.#authority = value;
        return;
      default:
        this.#refuse(`requests have no ${JSON.stringify(name)}`);
    }
  }

  #check({ name, value }: HeaderField): void {
    switch (name) {
      case 'host':
        if (this.#host !== undefined) this.#refuse(twice(name));
        if (!isHost(value)) this.#refuse('host is not a host');
        this.#host = value;
        return;
      case 'authorization':
        if (this.#credential) this.#refuse(twice(name));
        this.#credential = true;
        return;
      case 'content-length':
        if (this.#contentLength !== undefined) this.#refuse(twice(name));
        if (!validLength.test(value)) this.#refuse('content-length is not a number');
        this.#contentLength = Number(value);
        return;
      case 'te':
        if (value.toLowerCase() !== 'trailers') this.#refuse('te may only be "trailers" in HTTP/2');
        return;
      default:
        if (ofConnections.has(name)) this.#refuse(`header field ${name} is not allowed in HTTP/2`);
    }
  }

  #checkWhole(ended: boolean): void {
    if (ended && (this.#contentLength ?? 0) > 0) this.#refuse('content-length was sent without content');
    if (this.#method === undefined) this.#refuse(missing(':method'));
    if (this.#method === 'CONNECT') {
      if (this.#scheme !== undefined || this.#path !== undefined) this.#refuse('CONNECT has no :scheme and no :path');
      if (this.#authority === undefined) this.#refuse(missing(':authority'));
    } else {
      if (this.#scheme === undefined) this.#refuse(missing(':scheme'));
      if (this.#path === undefined) this.#refuse(missing(':path'));
    }
    const [authority, host] = [this.#authority, this.#host];
    if (authority !== undefined && host !== undefined && authority.toLowerCase() !== host.toLowerCase()) {
      this.#refuse(':authority and host differ');
    }
  }
}

const twice = (name: string): string => `${name} was sent twice`;
const missing = (name: string): string => `${name} is missing`;

const faultMessage = ({ name, fault }: HeaderField): string =>
  fault === 'name'
    ? `header field name ${JSON.stringify(name)} is not valid`
    : `the value of header field ${name} holds a character that is not allowed`;
