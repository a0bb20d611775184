import type { Requirement } from '../../meta/selectors.ts';
import { always, type Infer, list, map, opt, string, struct } from '../../schema/schema.ts';

/** One condition of a selector. */
export const labelSelectorRequirement = struct('apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement', 'A condition on one label.', {
  key: always(1, string(), 'Key of the label.'),
  operator: always(2, string(), 'One of `In`, `NotIn`, `Exists`, `DoesNotExist`.'),
  values: opt(3, list(string()), 'Values for `In` and `NotIn`; empty for the other operators.'),
});

/** A selector of objects by their labels, as it stands in other kinds. */
export const labelSelector = struct(
  'apimachinery.pkg.apis.meta.v1.LabelSelector',
  'Selects objects by their labels; all conditions must hold, and no condition selects everything.',
  {
    matchLabels: opt(1, map(string()), 'Labels that must be there with exactly these values.'),
    matchExpressions: opt(2, list(labelSelectorRequirement), 'Conditions that must all hold.'),
  },
  { structType: 'atomic', selects: 'labels' },
);

/** For fields that add to a selector beside them. */
export const labelSelectorNeeded = {
  fields: ['labelSelector'],
  detail: 'must not be specified when labelSelector is not set',
} as const;

/** What a condition means; undefined where its operator is none of labels. */
export function readLabelRequirement({ key = '', operator = '', values = [] }: Infer<typeof labelSelectorRequirement>): Requirement | undefined {
  switch (operator) {
    case 'In':
      return { operator: 'in', key, values: new Set(values) };
    case 'NotIn':
      return { operator: 'notin', key, values: new Set(values) };
    case 'Exists':
      return { operator: 'exists', key };
    case 'DoesNotExist':
      return { operator: 'absent', key };
    default:
      return undefined;
  }
}
