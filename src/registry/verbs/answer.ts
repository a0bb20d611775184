import { untilAborted } from '../../base/time/until-aborted.ts';
import { stringifyJson } from '../../codec/json.ts';
import type { AnswerContext, Kind } from '../../kinds/kind.ts';
import type { Reply } from '../reply.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';
import { admitUnstored } from '../write/admit-unstored.ts';
import { decodeBody } from '../write/decode-body.ts';
import type { ObjectWriter } from '../write/object-writer.ts';
import { parseWriteOptions } from '../write/write-options.ts';
import { placeInNamespace, writeContext } from './create.ts';

/** POST to the collection of a kind that is not stored: the response is computed (access reviews, token reviews). */
export async function answer(
  parts: RegistryParts,
  writer: ObjectWriter,
  request: VerbRequest,
  make: NonNullable<Kind['answer']>,
): Promise<Reply> {
  const { served } = request;
  const { kind } = served;
  const options = parseWriteOptions(request, writer.dialect.group('meta'));
  const object = decodeBody(request, kind, options);
  placeInNamespace(object, request);
  const context = answerContext(parts, writer, request);
  await admitUnstored(parts, writeContext(request, options), {
    kind,
    object,
    name: object.metadata.name ?? '',
    keepsServerMetadata: false,
    fill: (made) => kind.strategy.default?.(made, context),
    validate: () => kind.strategy.validateCreate?.(object, context),
    warnings: () => kind.strategy.warnings?.(object, undefined) ?? [],
  });
  const answering = make(object, context);
  const answered = answering instanceof Promise ? await untilAborted(answering, request.signal) : answering;
  return { type: 'object', status: 201, served, bytes: Buffer.from(stringifyJson(answered)) };
}

/** What computing a response may use. */
export const answerContext = (
  { servicesFor }: Pick<RegistryParts, 'servicesFor'>,
  writer: ObjectWriter,
  request: VerbRequest,
): AnswerContext => ({
  ...writer.strategyContext(request),
  services: servicesFor(request),
  warn: (text) => request.warn(text),
});
