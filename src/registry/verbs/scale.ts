import { applyConfiguration } from '../../apply/apply.ts';
import { applyConflict } from '../../apply/conflict.ts';
import { fieldElement } from '../../apply/fields/field-path.ts';
import { parseStored, stringifyJson } from '../../codec/json.ts';
import { replicasOf, scale, scaleOf, setReplicas, validateScale } from '../../kinds/autoscaling/scale.ts';
import type { ScaleSubresource } from '../../kinds/kind.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { badRequest, internalFailure, invalidObject, notFound, type ResourceName } from '../../meta/status-error.ts';
import { applyPatch } from '../../patch/apply-patch.ts';
import { cloneJson } from '../../patch/json-value.ts';
import { decode } from '../../schema/decode.ts';
import { isRecord } from '../../schema/own-property.ts';
import { validate } from '../../schema/validate.ts';
import type { ObjectReply, Reply } from '../reply.ts';
import type { RegistryParts, RequestBody, VerbRequest } from '../verb.ts';
import { admissionAttributes } from '../write/admission-attributes.ts';
import { checkUnknown, decodeBody, decodeObject } from '../write/decode-body.ts';
import type { ObjectWriter, WriteContext } from '../write/object-writer.ts';
import type { Stored } from '../write/stored-object.ts';
import { writeSource } from '../write/track-managed-fields.ts';
import { withConversions } from '../write/with-conversions.ts';
import { parseWriteOptions, type WriteOptions } from '../write/write-options.ts';
import { checkAppliedVersion, readConfiguration } from './apply.ts';
import { placeInNamespace, writeContext } from './create.ts';
import { get } from './get.ts';
import { problemsOf } from './patch.ts';
import { checkGivenVersion, checkName, checkUid, refuseUid } from './update.ts';

/** GET of a Scale: a part of the object, with its identity. */
export function getScale(
  parts: RegistryParts,
  request: VerbRequest,
  subresource: ScaleSubresource,
): Reply | Promise<Reply> {
  const read = (reply: Reply): Reply => {
    if (reply.type !== 'object') return reply;
    const found = readScale(parseStored(reply.bytes) as ApiObject, subresource);
    if (replicasOf(found) === undefined)
      throw internalFailure(`the spec replicas field ${quoted(subresource)} does not exist`);
    return answerOf(found);
  };
  const reply = get(parts, request, subresource.absentName);
  return reply instanceof Promise ? reply.then(read) : read(reply);
}

/**
 * PUT and PATCH of a Scale. What the client sends is a Scale, for admission too. What is written is the object with another
 * number of replicas, so the client comes to own that field of the object.
 */
export async function writeScale(
  parts: RegistryParts,
  writer: ObjectWriter,
  request: VerbRequest,
  subresource: ScaleSubresource,
): Promise<Reply> {
  const options = parseWriteOptions(request, writer.dialect.group('meta'));
  const { change, sent } = changeOf(writer, request, { options, subresource });
  const context = writeContext(request, options, request.body?.patch === 'apply' ? 'applied' : 'tracked');
  const written = await writer.change(
    context,
    request.info.name,
    async (stored) => {
      const old = readScale(stored.object, subresource);
      const { wanted, object } = await change(old, stored);
      await admit(parts, context, wanted, old);
      const replicas = replicasOf(wanted);
      if (replicas === undefined) throw badRequest(`the spec replicas field ${quoted(subresource)} cannot be empty`);
      setReplicas(object, subresource, replicas);
      return writer.prepareUpdate({ ...context, admission: 'done' }, object, stored, {});
    },
    async () => {
      if (sent) refuseUid(request, sent);
      throw notFound(request.served.name, request.info.name);
    },
  );
  return answerOf(readScale(parseStored(written.bytes) as ApiObject, subresource));
}

/** Conflicts are told as those of a Scale, wherever the object has its replicas. */
const asScale = {
  apiVersion: `${scale.group}/${scale.version}`,
  path: [fieldElement('spec'), fieldElement('replicas')],
};

/** A Scale as the client wants it, and the object to be stored, whose replicas may still be the old ones. */
interface Change {
  readonly wanted: ApiObject;
  readonly object: ApiObject;
}

type MakeChange = (old: ApiObject, stored: Stored) => Change | Promise<Change>;

interface ScaleWrite {
  readonly options: WriteOptions;
  readonly subresource: ScaleSubresource;
}

interface ScaleChange {
  readonly change: MakeChange;
  /** The whole Scale, where one was sent. */
  readonly sent?: ApiObject;
}

function changeOf(writer: ObjectWriter, request: VerbRequest, write: ScaleWrite): ScaleChange {
  const { body, info } = request;
  if (info.verb === 'update') {
    const sent = decodeBody(request, scale, write.options);
    return { sent, change: (old, stored) => replaced(request, sent, { old, stored }) };
  }
  if (body?.patch === undefined) throw badRequest('a patch is expected in the body of the request');
  if (body.patch === 'apply') return { change: appliedChange(writer, request, body, write) };
  const { patch: type, value } = body;
  const misread = problemsOf(body);
  const change: MakeChange = (old, stored) => {
    const result = applyPatch({ type, schema: scale.schema, original: old, patch: value });
    const report = (fields: readonly string[]): void => checkUnknown(request, write.options, [...misread, ...fields]);
    return replaced(request, decodeObject(result, scale, report), { old, stored, by: write.subresource.patchedName });
  };
  return { change };
}

interface Replaced {
  readonly old: ApiObject;
  readonly stored: Stored;
  /** What another uid does not fit. Default: the object. */
  readonly by?: ResourceName | undefined;
}

/** A Scale in the place of the old one. Its status stays. */
function replaced(request: VerbRequest, sent: ApiObject, { old, stored, by }: Replaced): Change {
  const wanted = { ...cloneJson(sent), status: old['status'] };
  placeInNamespace(wanted, request);
  checkName(wanted, request.info.name);
  checkUid(request, wanted, stored, by);
  checkGivenVersion(request, wanted, stored);
  return { wanted, object: cloneJson(stored.object) };
}

/** The configuration is applied as one of the object that has nothing but its replicas. */
function appliedChange(
  writer: ObjectWriter,
  request: VerbRequest,
  body: RequestBody,
  { options, subresource }: ScaleWrite,
): MakeChange {
  const { served } = request;
  const config = readConfiguration(request, body, scale);
  const sent = decodeObject(config, scale, (fields) =>
    checkUnknown(request, options, [...problemsOf(body), ...fields]),
  );
  const wantsReplicas = isRecord(config['spec']) && typeof config['spec']['replicas'] === 'number';
  const { name, namespace, managedFields } = config['metadata'] as ApiObject['metadata'];
  const metadata = {
    name,
    ...(namespace && { namespace }),
    ...(managedFields && { managedFields }),
  } as ApiObject['metadata'];
  const own: ApiObject = { apiVersion: served.apiVersion, kind: served.kind.kind, metadata };
  if (wantsReplicas) setReplicas(own, subresource, replicasOf(sent) ?? 0);
  const context = writeContext(request, options, 'applied');
  return async (old, stored) => {
    checkAppliedVersion(request, config, stored);
    checkUid(request, sent, stored, subresource.patchedName);
    const [now, live] = [writer.now(), served.fromWritten(stored.object)];
    const result = await withConversions(served, request, 'throws', (convert) =>
      applyConfiguration({ ...writeSource(context, now, convert), live, config: own, force: options.force }),
    );
    if (result.type === 'conflicts') throw applyConflict(result.conflicts.map((each) => ({ ...each, ...asScale })));
    const object = decodeObject(result.object, served.kind, () => {});
    // Replicas that nobody wants any more are zero.
    const replicas = replicasOf(readScale(object, subresource)) ?? (replicasOf(old) === undefined ? undefined : 0);
    const spec = replicas === undefined ? old['spec'] : { replicas };
    return { wanted: { ...cloneJson(old), spec }, object };
  };
}

/** Admission and validation of a Scale. */
async function admit(parts: RegistryParts, context: WriteContext, wanted: ApiObject, old: ApiObject): Promise<void> {
  const name = context.info.name;
  const attributes = admissionAttributes(parts, context, {
    operation: 'update',
    kind: scale,
    name,
    object: wanted,
    old,
  });
  const mutating = parts.admission.mutate(attributes);
  if (mutating) await mutating;
  const errors = replicasOf(wanted) === undefined ? [] : [...validate(scale.schema, wanted), ...validateScale(wanted)];
  if (errors.length > 0) throw invalidObject(scale, name, errors);
  const admitting = parts.admission.validate(attributes);
  if (admitting) await admitting;
}

/** A value of a wrong type is a defect of the stored object, not of the request. */
function readScale(object: ApiObject, subresource: ScaleSubresource): ApiObject {
  try {
    return scaleOf(object, subresource);
  } catch (error) {
    throw error instanceof TypeError ? internalFailure(error.message) : error;
  }
}

const answerOf = (found: ApiObject): ObjectReply => ({
  type: 'object',
  status: 200,
  served: undefined,
  // Decoding drops what is not shown when it is zero.
  bytes: Buffer.from(stringifyJson(decode(scale.schema, found).value)),
});

const quoted = ({ specReplicas }: ScaleSubresource): string => JSON.stringify(`.${specReplicas.join('.')}`);
