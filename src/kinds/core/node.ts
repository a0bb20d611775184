import type { Dialect } from '../../dialect/dialect.ts';
import { nodeFields } from '../../dialect/node-fields.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { selectable } from '../../meta/selectable-field.ts';
import { cloneJson } from '../../patch/json-value.ts';
import { always, type Infer } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, none, unknown, wide } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Column, Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { validateAvoidedPods } from './avoided-pods.ts';
import { nodeProxy } from './node-proxy.ts';
import { nodeSpec } from './node-spec.ts';
import { nodeStatus } from './node-status.ts';
import { validateSpec, validateStatus, validateStatusUpdate } from './node-validation.ts';

const schema = kindSchema('api.core.v1.Node', 'A machine that pods run on.', {
  spec: always(2, nodeSpec, 'What is asked of the node.'),
  status: always(3, nodeStatus, 'The state of the node.'),
});

type Node = Infer<typeof schema>;

/** Defaults allocatable to capacity, and podCIDRs to podCIDR and vice versa. */
function setDefaults(object: ApiObject): void {
  const { spec, status } = typed(schema, object);
  if (status?.capacity && !status.allocatable) status.allocatable = { ...status.capacity };
  if (!spec) return;
  if (spec.podCIDR && spec.podCIDR !== spec.podCIDRs?.[0]) spec.podCIDRs = [spec.podCIDR];
  const first = spec.podCIDRs?.[0];
  if (first) spec.podCIDR = first;
}

const specOf = (object: ApiObject): NonNullable<Node['spec']> => typed(schema, object).spec ?? {};
const statusOf = (object: ApiObject): NonNullable<Node['status']> => typed(schema, object).status ?? {};

function warnings(object: ApiObject, { title }: Dialect): string[] {
  const { configSource, externalID } = specOf(object);
  return [...(configSource ? ['spec.configSource: the feature is removed'] : []), ...(externalID ? [`spec.externalID: this field is deprecated, and is unused by ${title}`] : [])];
}

/** The server no longer configures node agents: what says how is kept where it is stored, and otherwise dropped. */
function dropConfiguration(object: ApiObject, old?: ApiObject): void {
  const { spec, status } = typed(schema, object);
  if (spec && !(old && specOf(old).configSource)) delete spec.configSource;
  if (status && !(old && statusOf(old).config)) delete status.config;
}

function readiness(object: ApiObject): string {
  const ready = statusOf(object).conditions?.findLast(({ type }) => type === 'Ready');
  const state = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return specOf(object).unschedulable ? `${state},SchedulingDisabled` : state;
}

/** Roles from labels: the suffixes of `node-role.<domain>/` keys, and the value of the legacy label. */
function roles({ metadata }: ApiObject, { domain }: Dialect): string {
  const prefix = `node-role.${domain}/`;
  const found = new Set<string>();
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    if (key.startsWith(prefix) && key.length > prefix.length) found.add(key.slice(prefix.length));
    else if (key === `${domain}/role` && value !== '') found.add(value);
  }
  return found.size === 0 ? none : [...found].sort().join(',');
}

const addressAt = (type: string): string => `.status.addresses[?(@.type=="${type}")].address`;

const columns = (dialect: Dialect): Column[] => [
  nameColumn,
  column('Status', 'Whether the node is ready, and takes new pods.', readiness),
  column('Roles', 'Roles of the node.', (object) => roles(object, dialect)),
  ageColumn,
  column('Version', 'Version of the node agent.', `.status.nodeInfo.${nodeFields.agentVersion}`),
  column('Internal-IP', 'Address of the node in its own network.', addressAt('InternalIP'), { ...wide, absent: none }),
  column('External-IP', 'Address of the node outside its network.', addressAt('ExternalIP'), { ...wide, absent: none }),
  column('OS-Image', 'Operating system image.', '.status.nodeInfo.osImage', { ...wide, absent: unknown }),
  column('Kernel-Version', 'Version of the kernel.', '.status.nodeInfo.kernelVersion', { ...wide, absent: unknown }),
  column('Container-Runtime', 'Name and version of the container runtime.', '.status.nodeInfo.containerRuntimeVersion', { ...wide, absent: unknown }),
];

/** Node. Unlike in other kinds, status may be set on create, because kubelets register with their full status. */
export const node = (dialect: Dialect): Kind =>
  defineKind({
    kind: 'Node',
    shortNames: ['no'],
    scope: 'Cluster',
    schema,
    selectableFields: [selectable('spec.unschedulable', { absent: 'false' })],
    columns: columns(dialect),
    strategy: {
      default: setDefaults,
      prepareForCreate: (object) => dropConfiguration(object),
      prepareForUpdate: dropConfiguration,
      validateCreate: (object) => [...validateAvoidedPods(object, dialect), ...validateSpec(specOf(object)), ...validateStatus(statusOf(object))],
      validateUpdate: (object) => [...validateAvoidedPods(object, dialect), ...validateSpec(specOf(object)), ...validateStatusUpdate(statusOf(object))],
      warnings: (object) => warnings(object, dialect),
    },
    subresources: [
      {
        type: 'view',
        name: 'status',
        verbs: ['get', 'update', 'patch'],
        keepsGatedFields: true,
        prepareForUpdate: (object, old) => {
          object['spec'] = cloneJson(old['spec']);
          dropConfiguration(object, old);
        },
        validateUpdate: (object) => [...validateAvoidedPods(object, dialect), ...validateStatusUpdate(statusOf(object))],
      },
      nodeProxy,
    ],
  });
