import { limits } from '../../base/limits.ts';
import { badRequest } from '../../meta/status-error.ts';
import type { Revision } from '../../store/store.ts';

/** Position of a chunked list (spec section 4.4). */
export interface ContinueToken {
  /** The revision of the whole list; `newest` continues an expired list at the newest state. */
  readonly revision: Revision | 'newest';
  /** The last key sent, relative to the collection: `name`, or `namespace/name` across namespaces. */
  readonly after: string;
}

interface TokenFields {
  /** Format version of the token. */
  readonly v: 1;
  /** -1 means the newest revision. */
  readonly rv: number;
  /** Key prefix of the collection that the token is valid for. */
  readonly of: string;
  readonly after: string;
}

const newest = -1;

/** Opaque to clients: base64url of a small JSON document. */
export function encodeContinueToken(token: ContinueToken, collectionKey: string): string {
  const fields: TokenFields = {
    v: 1,
    rv: token.revision === 'newest' ? newest : token.revision,
    of: collectionKey,
    after: token.after,
  };
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/**
 * Decodes a token from a client. Tokens are not signed: whatever one contains, it can only read the collection of the
 * request at a revision that the client may request anyway. An invalid token is a 400.
 */
export function decodeContinueToken(text: string, collectionKey: string): ContinueToken {
  const fields = parseToken(text);
  if (
    fields?.v !== 1 ||
    !(isRevision(fields.rv) || fields.rv === newest) ||
    typeof fields.after !== 'string' ||
    fields.after === ''
  ) {
    throw badRequest('continue key is not valid: it was not made by this server');
  }
  if (fields.of !== collectionKey) {
    throw badRequest('continue key is not valid: it belongs to another list');
  }
  if (fields.after.split('/').length > 2 || /[\0%]|(^|\/)\.{0,2}(\/|$)/.test(fields.after)) {
    throw badRequest('continue key is not valid: it does not name a position in this list');
  }
  return { revision: fields.rv === newest ? 'newest' : fields.rv, after: fields.after };
}

function parseToken(text: string): Partial<TokenFields> | undefined {
  if (text.length > limits.continueTokenBytesMax || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined; // not JSON, so not a token of this server
  }
}

const isRevision = (value: unknown): value is Revision => Number.isSafeInteger(value) && Number(value) > 0;
