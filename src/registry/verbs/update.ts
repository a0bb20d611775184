import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { invalid } from '../../meta/field-error.ts';
import {
  badRequest,
  conflict,
  invalidObject,
  notFound,
  type ResourceName,
  type StatusError,
  staleObject,
} from '../../meta/status-error.ts';
import { cloneJson } from '../../patch/json-value.ts';
import { parseResourceVersion } from '../read/list-options.ts';
import { type Reply, shownBytes } from '../reply.ts';
import type { VerbRequest } from '../verb.ts';
import { decodeBody } from '../write/decode-body.ts';
import { dedupOwnerReferences } from '../write/dedup-owner-references.ts';
import type { ObjectWriter, Step, UpdateView, WriteContext } from '../write/object-writer.ts';
import type { Stored } from '../write/stored-object.ts';
import { parseWriteOptions } from '../write/write-options.ts';
import { placeInNamespace, writeContext } from './create.ts';

/** PUT of an object or a view of it (spec section 4.6). */
export async function update(writer: ObjectWriter, request: VerbRequest, view?: UpdateView): Promise<Reply> {
  const { served, info } = request;
  const options = parseWriteOptions(request, writer.dialect.group('meta'));
  const sent = decodeBody(request, served.kind, options);
  placeInNamespace(sent, request);
  dedupOwnerReferences(sent, 'client', request);
  checkName(sent, info.name);
  const context = writeContext(request, options);
  const written = await writer.change(
    context,
    info.name,
    (stored) => step(writer, request, context, { sent, stored, view: view ?? served.kind.strategy }),
    async () => {
      refuseUid(request, sent);
      if (!served.kind.createOnUpdate || view) throw notFound(served.name, info.name);
      const object = refuseVersioned(cloneJson(sent), request);
      await writer.requireCreate(request);
      return writer.create(context, object);
    },
  );
  return {
    type: 'object',
    status: written.type === 'created' ? 201 : 200,
    served,
    bytes: shownBytes(served, written.bytes),
  };
}

interface Replacement {
  readonly sent: ApiObject;
  readonly stored: Stored;
  readonly view: UpdateView;
}

async function step(
  writer: ObjectWriter,
  request: VerbRequest,
  context: WriteContext,
  { sent, stored, view }: Replacement,
): Promise<Step> {
  checkPreconditions(request, sent, stored);
  const object = cloneJson(sent);
  return writer.prepareUpdate(context, object, stored, view);
}

/** The client's uid and resourceVersion are preconditions of the update. */
function checkPreconditions(request: VerbRequest, object: ApiObject, stored: Stored): void {
  checkUid(request, object, stored);
  checkVersion(request, object, stored);
}

/** The client's resourceVersion is one, which some kinds require. */
export function checkVersion(request: VerbRequest, object: ApiObject, stored: Stored): void {
  const { served, info } = request;
  checkGivenVersion(request, object, stored);
  if (served.kind.unconditionalUpdate || givenRevision(object) !== 0) return;
  const detail = 'must be specified for an update';
  // Named by the resource, as in kube-apiserver.
  const { group, resource: kind } = served.kind;
  throw invalidObject({ group, kind }, info.name, [
    { ...invalid('metadata.resourceVersion', 0, detail), shown: '0x0' },
  ]);
}

export function checkGivenVersion({ served, info }: VerbRequest, object: ApiObject, stored: Stored): void {
  const revision = givenRevision(object);
  if (revision !== 0 && revision !== stored.revision) throw conflict(served.name, info.name, staleObject);
}

/** 0 if none is given. */
const givenRevision = ({ metadata: { resourceVersion = '' } }: ApiObject): number =>
  resourceVersion === '' ? 0 : parseResourceVersion(resourceVersion);

/** An object with the same name and another uid is a different object. `by` is the resource that an error names. */
export function checkUid(
  { served, info }: VerbRequest,
  { metadata: { uid } }: ApiObject,
  stored: Stored,
  by: ResourceName = served.name,
): void {
  const oldUid = stored.object.metadata.uid ?? '';
  if (uid !== undefined && uid !== '' && uid !== oldUid) throw otherUid(by, info.name, uid, oldUid);
}

/** No object matches a uid where none is. */
export function refuseUid({ served, info }: VerbRequest, { metadata: { uid = '' } }: ApiObject): void {
  if (uid !== '') throw otherUid(served.name, info.name, uid, '');
}

const otherUid = (by: ResourceName, name: string, wanted: string, found: string): StatusError =>
  conflict(by, name, `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${found}`);

/** An update that would create must not have a resourceVersion: there is no object to match it. */
function refuseVersioned(object: ApiObject, { served, info }: VerbRequest): ApiObject {
  const { resourceVersion } = object.metadata;
  if (resourceVersion !== undefined && resourceVersion !== '0') {
    throw conflict(served.name, info.name, 'the object is not there; it cannot have the resourceVersion given');
  }
  return object;
}

/** The uid of an object is a precondition of an update, and a field that never changes for a patch. */
export function requireSameUid(
  { served, info }: VerbRequest,
  { metadata }: { readonly metadata?: Partial<ObjectMeta> },
  stored: Stored,
): void {
  const uid = metadata?.uid;
  if (uid === undefined || uid === '' || uid === stored.object.metadata.uid) return;
  throw invalidObject(served.kind, info.name, [invalid('metadata.uid', uid, 'field is immutable')]);
}

/** The name in the body must match the name in the path. */
export function checkName({ metadata }: ApiObject, name: string): void {
  if (metadata.name === undefined) {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  if (metadata.name !== name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  }
}
