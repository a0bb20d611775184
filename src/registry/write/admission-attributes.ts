import type { ConvertObject } from '../../apply/versions.ts';
import type { Span } from '../../base/span.ts';
import type { GroupVersionKind } from '../../kinds/kind.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { internalFailure, StatusError } from '../../meta/status-error.ts';
import type { AdmissionAttributes, AdmissionOperation, OperationOptions, ServedKind } from '../../request/admission.ts';
import type { AnnotationLevel } from '../../request/audit-annotations.ts';
import { askingFor } from '../../resources/custom-versions.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { setOwn } from '../../schema/own-property.ts';
import type { StructSchema } from '../../schema/schema.ts';
import type { RegistryParts } from '../verb.ts';
import { decodeObject } from './decode-body.ts';
import type { WriteContext } from './object-writer.ts';

interface Admitted extends Pick<AdmissionAttributes, 'operation' | 'object' | 'old'> {
  /** Kind of `object`. Default: the kind that is stored. */
  readonly kind?: GroupVersionKind & { readonly schema: StructSchema };
  /** Name of the object. Default: `metadata.name`. */
  readonly name?: string;
  /** Defaults that the schema cannot express. */
  readonly fill?: ((object: ApiObject) => void) | undefined;
}

type Parts = Pick<RegistryParts, 'dialect'>;

/** A write as admission plugins see it. Rarely used properties are computed on access. */
export const admissionAttributes = (parts: Parts, context: WriteContext, admitted: Admitted): AdmissionAttributes =>
  new WriteAttributes(parts, context, admitted);

class WriteAttributes implements AdmissionAttributes {
  readonly #parts: Parts;
  readonly #context: WriteContext;
  readonly #admitted: Admitted;
  replacements = 0;

  constructor(parts: Parts, context: WriteContext, admitted: Admitted) {
    this.#parts = parts;
    this.#context = context;
    this.#admitted = admitted;
  }

  get name(): string {
    const { name, object, old } = this.#admitted;
    return name ?? (object ?? old)?.metadata.name ?? '';
  }

  get operation(): AdmissionOperation {
    return this.#admitted.operation;
  }

  get info(): AdmissionAttributes['info'] {
    return this.#context.info;
  }

  get kind(): GroupVersionKind & { readonly schema: StructSchema } {
    return this.#admitted.kind ?? this.#context.served.written;
  }

  get schema(): StructSchema {
    return this.kind.schema;
  }

  get requested(): ServedKind {
    const { info, served } = this.#context;
    const { group, version, kind } = this.#admitted.kind ?? served.kind;
    return { group, version, kind, resource: info.resource };
  }

  get equivalents(): readonly ServedKind[] {
    const { served, info } = this.#context;
    const { kind: own } = this.#admitted;
    const body = own && own !== served.kind ? { group: own.group, version: own.version, kind: own.kind } : undefined;
    // A body of its own kind that is sent to a collection is of no other resource.
    if (body && info.subresource === '') return [];
    return served.resource.versions
      .filter((other) => other !== served)
      .filter(({ kind }) => !body || kind.subresources.some(({ name }) => name === info.subresource))
      .map(({ kind: { group, version, kind, resource } }) => ({
        group,
        version,
        kind,
        resource,
        ...(body && { body }),
      }));
  }

  get options(): OperationOptions | undefined {
    const kind = optionsKinds[this.operation];
    if (kind === undefined) return undefined;
    const apiVersion = apiVersionOf({ group: this.#parts.dialect.group('meta'), version: 'v1' });
    return { kind, apiVersion, ...this.#context.options };
  }

  get object(): ApiObject | undefined {
    return this.#admitted.object;
  }

  get old(): ApiObject | undefined {
    return this.#admitted.old;
  }

  get user(): AdmissionAttributes['user'] {
    return this.#context.user;
  }

  get dryRun(): boolean {
    return this.#context.dryRun;
  }

  get write(): object {
    return this.#context.request;
  }

  get signal(): AbortSignal {
    return this.#context.request.signal;
  }

  get deadlineMs(): number | undefined {
    return this.#context.request.deadlineMs;
  }

  get span(): Span | undefined {
    return this.#context.request.span;
  }

  awaitWebhook<T>(ask: () => Promise<T>): Promise<T> {
    this.#context.turn.current?.leave();
    return askingFor(this.#context.request, ask);
  }

  inVersion(object: ApiObject, of: ServedKind): ApiObject | Promise<ApiObject> {
    return this.#converted(object, apiVersionOf(of));
  }

  #converted(object: ApiObject, apiVersion: string): ApiObject | Promise<ApiObject> {
    const { conversion } = this.#context.served;
    if (object.apiVersion === apiVersion || this.#admitted.kind || !conversion) return object;
    if (conversion.type === 'now') return objectOf(conversion.convert(object, apiVersion), apiVersion);
    const converting = conversion.convert(object, apiVersion, this.#context.request);
    if (!converting) throw noSuchVersion(apiVersion);
    return converting.then((converted) => objectOf(converted, apiVersion));
  }

  replace(value: unknown, of?: ServedKind): Promise<void> | void {
    if (!this.#admitted.object) throw unusable('there is no object to change');
    const version = of ? this.#versionOf(of) : this.kind;
    const made = this.#converted(decoded(value, version), apiVersionOf(this.kind));
    if (made instanceof Promise) return made.then((converted) => this.#take(converted));
    this.#take(made);
  }

  schemaOf(of: ServedKind): StructSchema {
    return this.#versionOf(of).schema;
  }

  #versionOf(of: ServedKind): GroupVersionKind & { readonly schema: StructSchema } {
    if (this.#admitted.kind) return this.kind;
    const { served } = this.#context;
    const apiVersion = apiVersionOf(of);
    const found = [served, ...served.resource.versions].find((each) => each.apiVersion === apiVersion);
    if (!found) throw noSuchVersion(apiVersion);
    return found.kind;
  }

  #take(made: ApiObject): void {
    const { object, fill } = this.#admitted;
    if (!object) return;
    fill?.(made);
    if (equalValues(made, object)) return;
    for (const field of Object.keys(object)) delete object[field];
    for (const [field, content] of Object.entries(made)) setOwn(object, field, content);
    this.replacements++;
  }

  annotate(key: string, value: string, from?: AnnotationLevel): string | undefined {
    return this.#context.request.annotate(key, value, from);
  }

  warn(text: string): void {
    this.#context.request.warn(text);
  }
}

const optionsKinds: Readonly<Record<AdmissionOperation, OperationOptions['kind'] | undefined>> = {
  create: 'CreateOptions',
  update: 'UpdateOptions',
  delete: 'DeleteOptions',
  connect: undefined,
};

/** An invalid object from a plugin is an internal error, not a client error. */
function decoded(value: unknown, kind: GroupVersionKind & { readonly schema: StructSchema }): ApiObject {
  try {
    return decodeObject(value, kind, () => {});
  } catch (error) {
    throw error instanceof StatusError ? unusable(error.message) : error;
  }
}

function objectOf(converted: ReturnType<ConvertObject>, apiVersion: string): ApiObject {
  if (!converted) throw noSuchVersion(apiVersion);
  const object = converted.object as ApiObject;
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}

const noSuchVersion = (apiVersion: string): StatusError =>
  internalFailure(`no object of this request can be converted to ${apiVersion}`);

const unusable = (why: string): StatusError =>
  internalFailure(`admission changed the object to what cannot be used: ${why}`);
