import { limits } from '../base/limits.ts';

/** What a server answered. */
export interface Answered {
  readonly status: number;
  readonly body: Buffer;
  /** Of its header, if there is one. */
  readonly contentType?: string | undefined;
}

interface AnswerProblem {
  readonly message: string;
  /** Of the error that the server reports; undefined if it reports none. */
  readonly code: number | undefined;
}

/** Why an answer cannot be read, in the words of client-go: a status that is no success, or no body. Undefined if it can. */
export function problemOfAnswer({ status, body, contentType = '' }: Answered): AnswerProblem | undefined {
  // As client-go, which reads the answers of some more statuses than 200.
  if (status < 200 || status > 206) {
    return reported(body) ?? { message: genericMessage(status, serverMessage(body, contentType)), code: status };
  }
  if (body.length > 0) return undefined;
  const type = contentType === '' ? 'application/json' : shown(contentType);
  return { message: `0-length response with status code: ${status} and content type: ${type}`, code: undefined };
}

/** The error of a Status object, whatever the content type says. */
function reported(body: Buffer): AnswerProblem | undefined {
  const { kind, apiVersion = 'v1', status, message = '', code = 0 } = fieldsOf(body);
  if (kind !== 'Status' || apiVersion !== 'v1' || status !== 'Failure') return undefined;
  return typeof message === 'string' && typeof code === 'number' ? { message: shown(message), code } : undefined;
}

/** None if the body is no JSON object, or too large for a Status. */
function fieldsOf(body: Buffer): Readonly<Record<string, unknown>> {
  if (body.length > limits.webhookAnswerBytesMax) return {};
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {}; // The text is shown instead.
  }
}

/** What is told of a body that is no Status. */
function serverMessage(body: Buffer, contentType: string): string {
  if (contentType !== '' && !/^\s*text\//i.test(contentType)) return 'unknown';
  return body.subarray(0, limits.webhookErrorLengthMax).toString().trim();
}

/** What client-go says of a status, with the text of the server where that tells more. */
export function genericMessage(status: number, text: string): string {
  switch (status) {
    case 400:
      return 'the server rejected our request for an unknown reason';
    case 401:
      return 'the server has asked for the client to provide credentials';
    case 403:
    case 415:
      return shown(text);
    case 404:
      return 'the server could not find the requested resource';
    case 405:
      return 'the server does not allow this method on the requested resource';
    case 406:
      return text === '' || text === 'unknown'
        ? 'the server was unable to respond with a content type that the client supports'
        : shown(text);
    case 409:
      return 'the server reported a conflict';
    case 422:
      return 'the server rejected our request due to an error in our request';
    case 429:
      return 'the server has received too many requests and has asked us to try again later';
    case 503:
      return 'the server is currently unable to handle the request';
    case 504:
      return 'the server was unable to return a response in the time allotted, but may still be processing the request';
    default:
      return status >= 500
        ? `an error on the server (${quoted(text)}) has prevented the request from succeeding`
        : `the server responded with the status code ${status} but did not return more information`;
  }
}

/** Text of the other side as a part of a message: bounded, without control characters. */
const shown = (text: string): string =>
  text
    .slice(0, limits.webhookErrorLengthMax)
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .trim();

/** The same in quotes, with its control characters escaped. */
export const quoted = (text: string): string =>
  JSON.stringify(text.slice(0, limits.webhookErrorLengthMax).toWellFormed()).replace(
    /\p{Cc}/gu,
    (control) => `\\x${control.charCodeAt(0).toString(16)}`,
  );
