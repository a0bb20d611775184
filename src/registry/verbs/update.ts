import type { ApiObject } from '../../meta/api-object.ts';
import { invalid } from '../../meta/field-error.ts';
import { badRequest, conflict, invalidObject, staleObject } from '../../meta/status-error.ts';
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
    served.kind.createOnUpdate && !view
      ? async () => {
          const object = refuseVersioned(cloneJson(sent), request);
          await writer.requireCreate(request);
          return writer.create(context, object);
        }
      : undefined,
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

/** The same for objects that need neither. */
export function checkGivenPreconditions(request: VerbRequest, object: ApiObject, stored: Stored): void {
  checkUid(request, object, stored);
  checkGivenVersion(request, object, stored);
}

function checkGivenVersion({ served, info }: VerbRequest, object: ApiObject, stored: Stored): void {
  const revision = givenRevision(object);
  if (revision !== 0 && revision !== stored.revision) throw conflict(served.name, info.name, staleObject);
}

/** 0 if none is given. */
const givenRevision = ({ metadata: { resourceVersion = '' } }: ApiObject): number =>
  resourceVersion === '' ? 0 : parseResourceVersion(resourceVersion);

/** An object with the same name and another uid is a different object. */
function checkUid({ served, info }: VerbRequest, { metadata: { uid } }: ApiObject, stored: Stored): void {
  const oldUid = stored.object.metadata.uid;
  if (uid === undefined || uid === '' || uid === oldUid) return;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${oldUid}`;
  throw conflict(served.name, info.name, why);
}

/** An update that would create must not have a uid or resourceVersion: there is no object to match them. */
function refuseVersioned(object: ApiObject, { served, info }: VerbRequest): ApiObject {
  const { resourceVersion, uid } = object.metadata;
  if ((resourceVersion !== undefined && resourceVersion !== '0') || uid !== undefined) {
    throw conflict(served.name, info.name, 'the object is not there; it cannot have the uid or resourceVersion given');
  }
  return object;
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
