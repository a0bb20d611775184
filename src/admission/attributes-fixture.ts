import type { ApiObject } from '../meta/api-object.ts';
import type { AdmissionAttributes } from '../request/admission.ts';
import { groupMasters } from '../request/user-info.ts';
import { struct } from '../schema/schema.ts';

const anything = struct('Any', 'Any object.', {});

interface Write {
  readonly operation?: AdmissionAttributes['operation'];
  /** `resource`, `resource/subresource`. */
  readonly resource?: string;
  readonly group?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly object?: object;
  readonly old?: object;
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** Test support: a write as admission plugins see it. */
export function attributesOf(write: Write = {}): AdmissionAttributes {
  const { group = '', namespace = '', name = 'x', resource: path = 'configmaps', operation = 'create' } = write;
  const [resource = '', subresource = ''] = path.split('/');
  const objectOf = (fields: object | undefined): ApiObject | undefined =>
    fields && ({ apiVersion: 'v1', kind: 'Any', metadata: { name }, ...fields } as ApiObject);
  const object = operation === 'delete' ? undefined : objectOf(write.object ?? {});
  let replacements = 0;
  return {
    operation,
    info: { group, version: 'v1', resource, subresource, namespace, name: operation === 'create' ? '' : name },
    name,
    kind: { group, version: 'v1', kind: 'Any' },
    schema: anything,
    requested: { group, version: 'v1', kind: 'Any', resource },
    equivalents: [],
    options: undefined,
    object,
    old: objectOf(write.old),
    user: { username: 'jane', uid: '', groups: [groupMasters], extra: {} },
    dryRun: write.dryRun ?? false,
    write,
    signal: write.signal ?? new AbortController().signal,
    ...{ span: undefined, deadlineMs: undefined },
    awaitWebhook: (ask) => ask(),
    get replacements() {
      return replacements;
    },
    inVersion: (converted) => converted,
    schemaOf: () => anything,
    replace(value) {
      Object.assign(object ?? {}, value);
      replacements++;
    },
    annotate: () => undefined,
    warn() {},
  };
}
