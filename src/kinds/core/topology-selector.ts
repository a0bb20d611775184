import { isDeepStrictEqual } from 'node:util';
import { duplicate, errorsOfEach, type FieldError, required } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import { always, type Infer, list, opt, string, struct } from '../../schema/schema.ts';
import { failing } from './pod/validation/field-checks.ts';

const topologySelectorLabelRequirement = struct('api.core.v1.TopologySelectorLabelRequirement', 'A label that a node must have, with one of some values.', {
  key: always(1, string(), 'Key of the label.'),
  values: always(2, list(string()), 'Its values, of which the node has one.', { documented: 'required' }),
});

export const topologySelectorTerm = struct(
  'api.core.v1.TopologySelectorTerm',
  'Labels that a node must have all together.',
  {
    matchLabelExpressions: opt(1, list(topologySelectorLabelRequirement), 'The labels.'),
  },
  { structType: 'atomic' },
);

type Term = Infer<typeof topologySelectorTerm>;
type Requirement = NonNullable<Term['matchLabelExpressions']>[number];

/** No two terms may say the same, and none may say nothing. */
export function validateTopologies(terms: readonly Term[], path: string): FieldError[] {
  const before: ReadonlyMap<string, ReadonlySet<string>>[] = [];
  return errorsOfEach(terms, ({ matchLabelExpressions = [] }, index) => {
    const at = `${path}[${index}].matchLabelExpressions`;
    const labels = new Map<string, ReadonlySet<string>>();
    const errors = errorsOfEach(matchLabelExpressions, (expression, i) => validateRequirement(expression, `${at}[${i}]`, labels));
    const isKnown = labels.size === 0 || before.some((other) => isDeepStrictEqual(other, labels));
    before.push(labels);
    return isKnown ? [...errors, duplicate(at, '')] : errors;
  });
}

function validateRequirement({ key = '', values = [] }: Requirement, path: string, labels: Map<string, ReadonlySet<string>>): FieldError[] {
  const seen = new Set<string>();
  const errors = [
    ...(values.length === 0 ? [required(`${path}.values`)] : []),
    ...errorsOfEach(values, (value, index) => {
      const isRepeated = seen.has(value);
      seen.add(value);
      return isRepeated ? [duplicate(`${path}.values[${index}]`, value)] : [];
    }),
    ...failing(isQualifiedName, `${path}.key`, key),
    ...(labels.has(key) ? [duplicate(`${path}.key`, key)] : []),
  ];
  labels.set(key, seen);
  return errors;
}
