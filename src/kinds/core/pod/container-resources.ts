import { type Infer, list, map, optional, quantity, required, string, struct } from '../../../schema/schema.ts';

const resourceClaim = struct('api.core.v1.ResourceClaim', 'Refers to a resource claim of the pod.', {
  name: required(1, string(), "Name of an entry in the pod's `resourceClaims`."),
  request: optional(2, string(), 'Name of one request of the claim; all of them where it is left out.'),
});

export const resourceRequirements = struct(
  'api.core.v1.ResourceRequirements',
  'Computing resources that are asked for and allowed.',
  {
    limits: optional(1, map(quantity()), 'Most that may be used of each resource.'),
    requests: optional(
      2,
      map(quantity()),
      'Least that is set aside of each resource; equal to the limits where it is left out.',
    ),
    claims: optional(
      3,
      list(resourceClaim, {
        listType: 'map',
        mapKeys: ['name'],
        unique: { by: ['name', 'request'], shows: 'firstKey' },
      }),
      'Resource claims of the pod that are used here.',
    ),
  },
);

export const containerResizePolicy = struct(
  'api.core.v1.ContainerResizePolicy',
  'What a change of a resource does to a running container.',
  {
    resourceName: required(1, string({ enum: ['cpu', 'memory'] }), 'Resource that the rule is for: `cpu` or `memory`.'),
    restartPolicy: required(
      2,
      string({ enum: ['NotRequired', 'RestartContainer'] }),
      'Whether the container is restarted: `NotRequired` or `RestartContainer`.',
    ),
  },
);

export type ResourceRequirements = Infer<typeof resourceRequirements>;
