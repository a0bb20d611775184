import { limits } from '../../base/limits.ts';
import { badRequest } from '../../meta/status-error.ts';
import type { Revision } from '../../store/store.ts';

/** Where a chunked list goes on (spec section 4.4). */
export interface ContinueToken {
  /** The version of the whole list; `newest` where that one is gone, and the rest is wanted all the same. */
  readonly revision: Revision | 'newest';
  /** The last key that was sent, relative to the collection: `name`, or `namespace/name` across namespaces. */
  readonly after: string;
}

interface TokenFields {
  /** Layout of the token. */
  readonly v: 1;
  /** -1 is the newest version. */
  readonly rv: number;
  /** The collection the token was made for, so that it is no use for another. */
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
 * Reads a token that came back. A token is no secret and not signed: whatever it holds, what can be read with it is the
 * collection of the request at a version that its reader may ask for anyway. Anything unexpected is a 400.
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
    return undefined; // not JSON: not one of ours, which is all the caller asks
  }
}

const isRevision = (value: unknown): value is Revision => Number.isSafeInteger(value) && Number(value) > 0;
