import { type Infer, list, map, opt, quantity, req, string, struct, undocumentedEnum } from '../../../../schema/schema.ts';

const resourceClaim = struct('api.core.v1.ResourceClaim', 'Refers to a resource claim of the pod.', {
  name: req(1, string(), "Name of an entry in the pod's `resourceClaims`."),
  request: opt(2, string(), 'Name of one request of the claim; all of them where it is left out.'),
});

export const resourceRequirements = struct('api.core.v1.ResourceRequirements', 'Computing resources that are asked for and allowed.', {
  limits: opt(1, map(quantity()), 'Most that may be used of each resource.'),
  requests: opt(2, map(quantity()), 'Least that is set aside of each resource; equal to the limits where it is left out.'),
  claims: opt(
    3,
    list(resourceClaim, {
      listType: 'map',
      mapKeys: ['name'],
      unique: { by: ['name', 'request'], shows: 'firstKey' },
    }),
    'Resource claims of the pod that are used here.',
    { gate: 'DynamicResourceAllocation' },
  ),
});

export const containerResizePolicy = struct('api.core.v1.ContainerResizePolicy', 'What a change of a resource does to a running container.', {
  resourceName: req(1, undocumentedEnum('cpu', 'memory'), 'Resource that the rule is for: `cpu` or `memory`.'),
  restartPolicy: req(2, undocumentedEnum('NotRequired', 'RestartContainer'), 'Whether the container is restarted: `NotRequired` or `RestartContainer`.'),
});

export type ResourceRequirements = Infer<typeof resourceRequirements>;
