import { applyConfiguration, keepTimesOfNoOp } from '../../apply/apply.ts';
import { applyConflict } from '../../apply/conflict.ts';
import type { GroupVersionKind } from '../../kinds/kind.ts';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { badRequest, conflict, staleObject } from '../../meta/status-error.ts';
import { isRecord } from '../../schema/own-property.ts';
import { type Reply, shownBytes } from '../reply.ts';
import type { RequestBody, VerbRequest } from '../verb.ts';
import { checkUnknown, decodeObject, duplicateFields, withKind } from '../write/decode-body.ts';
import type { ObjectWriter, UpdateView, WriteContext } from '../write/object-writer.ts';
import type { Stored } from '../write/stored-object.ts';
import { writeSource } from '../write/track-managed-fields.ts';
import { withConversions } from '../write/with-conversions.ts';
import { parseWriteOptions, type WriteOptions } from '../write/write-options.ts';
import { placeInNamespace, writeContext } from './create.ts';
import { requireSameUid } from './update.ts';

/**
 * Server-side apply (spec sections 4.6 and 4.7). The body is the manager's desired configuration; it is merged into the
 * existing object, or creates it. Fields that the manager no longer applies are removed unless another manager owns
 * them.
 */
export async function apply(
  writer: ObjectWriter,
  request: VerbRequest,
  body: RequestBody,
  view?: UpdateView,
): Promise<Reply> {
  const { served, info } = request;
  const options = parseWriteOptions(request, writer.dialect.group('meta'));
  const config = readConfiguration(request, body, served.kind);
  const context = writeContext(request, options, 'applied');
  const written = await writer.change(
    context,
    info.name,
    async (stored) => {
      checkIdentity(request, config, stored);
      const object = await applied(writer, request, context, { config, options, stored });
      const step = await writer.prepareUpdate(context, object, stored, view ?? served.kind.strategy);
      if (step.type === 'put') keepTimesOfNoOp(step.object, stored.object);
      return step;
    },
    view
      ? undefined
      : async () => {
          refuseIdentity(request, config);
          requireName(request, body);
          await writer.requireCreate(request);
          const object = await applied(writer, request, context, { config, options, stored: undefined });
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

type Configuration = Readonly<Record<string, unknown>>;

/** A configuration of a new object must name it; one of an existing object may leave that to the path. */
function requireName({ info }: VerbRequest, { value }: RequestBody): void {
  if (metadataOf(value)?.['name']) return;
  throw badRequest(`the name of the object (${info.name} based on URL) was undeterminable: name must be provided`);
}

const metadataOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  isRecord(value) && isRecord(value['metadata']) ? value['metadata'] : undefined;

/** The body as a partial object of a kind with the name of the path. */
export function readConfiguration(request: VerbRequest, { value }: RequestBody, kind: GroupVersionKind): Configuration {
  const { info } = request;
  if (!isRecord(value)) throw badRequest('the body of an apply must be an object');
  if (!value['apiVersion'] || !value['kind']) throw badRequest('the body of an apply must have apiVersion and kind');
  const config = withKind(value, kind, otherVersion);
  const metadata = isRecord(config['metadata']) ? { ...config['metadata'] } : {};
  if (metadata['name'] !== undefined && metadata['name'] !== info.name) {
    throw badRequest(`the name of the object (${metadata['name']}) does not match the name on the URL (${info.name})`);
  }
  metadata['name'] = info.name;
  placeInNamespace({ metadata }, request);
  return { ...config, metadata };
}

const otherVersion = (sent: string, wanted: string): string =>
  `Incorrect version specified in apply patch. Specified patch version: ${sent}, expected: ${wanted}`;

/** A configuration may require a resourceVersion or a uid. */
function checkIdentity(request: VerbRequest, config: Configuration, stored: Stored): void {
  checkAppliedVersion(request, config, stored);
  requireSameUid(request, config, stored);
}

/** A resourceVersion of 0 is that of any existing object. */
export function checkAppliedVersion({ served, info }: VerbRequest, config: Configuration, stored: Stored): void {
  const { resourceVersion = '' } = metadataIn(config);
  if (resourceVersion === '' || resourceVersion === '0') return;
  if (resourceVersion !== stored.object.metadata.resourceVersion) throw conflict(served.name, info.name, staleObject);
}

/** There is no object that could have them. */
function refuseIdentity({ served, info }: VerbRequest, config: Configuration): void {
  const { uid = '', resourceVersion = '' } = metadataIn(config);
  if (uid !== '') {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(served.name, info.name, why);
  }
  if (resourceVersion !== '') throw conflict(served.name, info.name, staleObject);
}

const metadataIn = (config: Configuration): ObjectMeta => config['metadata'] as ObjectMeta;

interface Application {
  readonly config: Configuration;
  readonly options: WriteOptions;
  readonly stored: Stored | undefined;
}

/** The merged object, decoded and defaulted. */
async function applied(
  writer: ObjectWriter,
  request: VerbRequest,
  context: WriteContext,
  { config, options, stored }: Application,
): Promise<ApiObject> {
  const { served, body } = request;
  const { commandLineClient: manager, lastAppliedAnnotation: annotation } = writer.dialect;
  const [now, live] = [writer.now(), stored && served.fromWritten(stored.object)];
  const merging = withConversions(served, request, 'throws', (convert) =>
    applyConfiguration({
      ...writeSource(context, now, convert),
      ...{ live, config, force: options.force, ...(isRecord(body?.value) && { sent: body.value }) },
      clientSideApply: { manager, annotation },
    }),
  );
  const result = merging instanceof Promise ? await merging : merging;
  const unknown = result.unknown.map((path) => `unknown field "${path}"`);
  checkUnknown(request, options, [...duplicateFields(body?.duplicates ?? []), ...unknown]);
  if (result.type === 'conflicts') throw applyConflict(result.conflicts);
  return decodeObject(result.object, served.kind, () => {}, { nulls: 'kept' });
}
