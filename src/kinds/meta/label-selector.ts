import { matches, OneValue, type Requirement, type Selector } from '../../meta/selectors.ts';
import { always, type Infer, list, map, opt, string, struct } from '../../schema/schema.ts';

/** One requirement of a label selector. */
export const labelSelectorRequirement = struct('apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement', 'A condition on one label.', {
  key: always(1, string(), 'Key of the label.'),
  operator: always(2, string(), 'One of `In`, `NotIn`, `Exists`, `DoesNotExist`.'),
  values: opt(3, list(string()), 'Values for `In` and `NotIn`; empty for the other operators.'),
});

/** The LabelSelector type, for fields of other kinds. */
export const labelSelector = struct(
  'apimachinery.pkg.apis.meta.v1.LabelSelector',
  'Selects objects by their labels; all conditions must hold, and no condition selects everything.',
  {
    matchLabels: opt(1, map(string()), 'Labels that must be there with exactly these values.'),
    matchExpressions: opt(2, list(labelSelectorRequirement), 'Conditions that must all hold.'),
  },
  { structType: 'atomic', selects: 'labels' },
);

/** Parses a requirement; undefined if its operator is unknown. */
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

/** Parses a selector; undefined if an operator is unknown, which validation prevents. */
export function readLabelSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): Selector | undefined {
  const requirements: Requirement[] = Object.entries(matchLabels).map(([key, value]) => ({ operator: 'in', key, values: new OneValue(value) }));
  for (const expression of matchExpressions) {
    const requirement = readLabelRequirement(expression);
    if (!requirement) return undefined;
    requirements.push(requirement);
  }
  return requirements;
}

/** A selector as the text of a query: `a=b,c in (d,e),!f`, in order of keys. */
export function labelSelectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const requirements = [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, text: `${key}=${value}` })),
    ...matchExpressions.map((each) => ({ key: each.key ?? '', text: requirementText(each) })),
  ];
  return requirements
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ text }) => text)
    .join(',');
}

function requirementText({ key = '', operator, values = [] }: Infer<typeof labelSelectorRequirement>): string {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return `${key} ${operator.toLowerCase()} (${[...values].sort().join(',')})`;
    case 'DoesNotExist':
      return `!${key}`;
    default:
      return key;
  }
}

export type LabelSelector = Infer<typeof labelSelector>;

/** Whether a selector selects what has these labels. */
export const selectsLabels = (selector: Selector, labels: Readonly<Record<string, string>> = {}): boolean => matches(selector, (key) => (Object.hasOwn(labels, key) ? labels[key] : undefined));
