import { always, documentedEnum, type Infer, list, opt, string, struct } from '../../schema/schema.ts';

const nodeSelectorRequirement = struct('api.core.v1.NodeSelectorRequirement', 'One test of a label or field of a node.', {
  key: always(1, string(), 'Label or field that is tested.'),
  operator: always(2, documentedEnum('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'), 'How the value relates to the given values.'),
  values: opt(3, list(string()), 'Values to compare with; none for existence tests, exactly one number for `Gt` and `Lt`.'),
});

export const nodeSelectorTerm = struct(
  'api.core.v1.NodeSelectorTerm',
  'Requirements that a node must meet all together; a term without any matches no node.',
  {
    matchExpressions: opt(1, list(nodeSelectorRequirement), 'Requirements on the labels of the node.'),
    matchFields: opt(2, list(nodeSelectorRequirement), 'Requirements on fields of the node.'),
  },
  { structType: 'atomic' },
);

export const nodeSelector = struct(
  'api.core.v1.NodeSelector',
  'Selects nodes that match at least one of its terms.',
  {
    nodeSelectorTerms: always(1, list(nodeSelectorTerm), 'Terms, of which one must match.', { documented: 'required' }),
  },
  { structType: 'atomic' },
);

export type NodeSelector = Infer<typeof nodeSelector>;

export type NodeSelectorTerm = Infer<typeof nodeSelectorTerm>;
