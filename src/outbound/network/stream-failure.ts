/** Why a request has no response: what may be done about it, beside the error itself. */
export class StreamFailure extends Error {
  /**
   * `unprocessed`: the server did nothing about it (RFC 9113 section 8.7); `lost`: the session, which had served others, ended;
   * `http1`: the server wants HTTP/1.1 for it; `failed`: anything else.
   */
  readonly type: 'unprocessed' | 'lost' | 'http1' | 'failed';
  /** For the caller. */
  readonly error: Error;

  constructor(type: StreamFailure['type'], error: Error) {
    super(error.message, { cause: error });
    this.name = 'StreamFailure';
    this.type = type;
    this.error = error;
  }
}
