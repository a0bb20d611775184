import type { Readable } from 'node:stream';
import { limits } from '../../../base/limits.ts';
import { badRequest, internalFailure, StatusError, type StatusReason } from '../../../meta/status-error.ts';
import { genericMessage } from '../../../outbound/describe-answer.ts';
import type { ResourceRequest } from '../../../request/request-info.ts';

/** The error that an agent answered instead of a text, as a Status in the words of kube-apiserver. */
export async function agentError(
  { status, body }: { readonly status: number; readonly body: Readable },
  { resource, subresource, name }: ResourceRequest,
): Promise<StatusError> {
  const text = await readStart(body);
  if (status === 400) return badRequest(text);
  if (status === 500) return internalFailure(text);
  const of = `${resource}/${subresource}`;
  return new StatusError(
    reasons[status] ?? (status > 500 ? 'InternalError' : ''),
    `${genericMessage(status, text)} ( ${of} ${name})`,
    {
      code: status,
      details: { name, kind: of },
    },
  );
}

const reasons: Readonly<Record<number, StatusReason>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

async function readStart(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= limits.agentErrorBytesMax) break;
    }
  } catch {
    // What was received tells more than that the rest is missing.
  }
  return Buffer.concat(chunks).subarray(0, limits.agentErrorBytesMax).toString();
}
