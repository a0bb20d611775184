import { errorsOfEach, type FieldError, forbidden, invalid, required } from '../../meta/field-error.ts';
import { isLabelValue, isQualifiedName } from '../../meta/formats.ts';
import { parseFieldSelector, parseLabelSelector, type Requirement, type Selector } from '../../meta/selectors.ts';
import { always, type Infer, list, opt, string, struct } from '../../schema/schema.ts';
import { labelSelectorRequirement, readLabelRequirement } from '../meta/label-selector.ts';

/** Field and label selectors of access reviews (KEP-4601). */

const fieldSelectorRequirement = struct('apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement', 'A condition on one field.', {
  key: always(1, string(), 'The field, as selectors name it.'),
  operator: always(2, string(), 'One of `In`, `NotIn`, `Exists`, `DoesNotExist`; there may be more one day.'),
  values: opt(3, list(string()), 'Values for `In` and `NotIn`; empty for the other operators.'),
});

const rawSelector = opt(1, string(), 'The selector as a query parameter has it; read where there are no requirements. Webhooks should not read it.');

export const fieldSelectorAttributes = struct('api.authorization.v1.FieldSelectorAttributes', 'Limits a request to objects by their fields; requirements or text, not both.', {
  rawSelector,
  requirements: opt(2, list(fieldSelectorRequirement), 'Conditions that must all hold.'),
});

export const labelSelectorAttributes = struct('api.authorization.v1.LabelSelectorAttributes', 'Limits a request to objects by their labels; requirements or text, not both.', {
  rawSelector,
  requirements: opt(2, list(labelSelectorRequirement), 'Conditions that must all hold.'),
});

type FieldSelectorAttributes = Infer<typeof fieldSelectorAttributes>;
type LabelSelectorAttributes = Infer<typeof labelSelectorAttributes>;
type SentRequirement = Infer<typeof labelSelectorRequirement>;

export const validateFieldSelector = (sent: FieldSelectorAttributes | undefined, path: string): FieldError[] =>
  validateSelector(sent, path, ({ key = '' }, at) => (key === '' ? [required(`${at}.key`, 'must be specified')] : []));

export const validateLabelSelector = (sent: LabelSelectorAttributes | undefined, path: string): FieldError[] =>
  validateSelector(sent, path, ({ key = '', values = [] }, at) => [
    ...isQualifiedName(key).map((problem) => invalid(`${at}.key`, key, problem)),
    ...errorsOfEach(values, (value, index) => isLabelValue(value).map((problem) => invalid(`${at}.values[${index}]`, value, problem))),
  ]);

function validateSelector(sent: LabelSelectorAttributes | undefined, path: string, validateNames: (requirement: SentRequirement, path: string) => readonly FieldError[]): FieldError[] {
  if (!sent) return [];
  const { rawSelector: raw = '', requirements = [] } = sent;
  return [
    ...(raw !== '' && requirements.length > 0 ? [invalid(`${path}.rawSelector`, raw, 'may not specified at the same time as requirements')] : []),
    ...(raw === '' && requirements.length === 0 ? [required(`${path}.requirements`, `when ${path} is specified, requirements or rawSelector is required`)] : []),
    ...errorsOfEach(requirements, (requirement, index) => {
      const at = `${path}.requirements[${index}]`;
      return [...validateValues(requirement, `${at}.values`), ...validateNames(requirement, at)];
    }),
  ];
}

/** Accepts unknown operators, which newer clients may send. Without such a requirement the review asks for broader access. */
function validateValues({ operator, values = [] }: SentRequirement, path: string): FieldError[] {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length > 0 ? [] : [required(path, "must be specified when `operator` is 'In' or 'NotIn'")];
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0 ? [] : [forbidden(path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      return [];
  }
}

/** The requirements of a selector that could be parsed. */
export interface ReadSelector {
  /** Undefined if the request is not restricted. */
  readonly selector: Selector | undefined;
  /** False if a requirement could not be parsed and was ignored. */
  readonly complete: boolean;
}

const none: ReadSelector = { selector: undefined, complete: true };
const unreadable: ReadSelector = { selector: undefined, complete: false };

/** Field requirements have one value, and only the operators that the query parameter has. */
export const readFieldSelector = (sent: FieldSelectorAttributes | undefined): ReadSelector =>
  read(sent, parseFieldSelector, ({ key = '', operator = '', values = [] }) => {
    if (values.length !== 1 || (operator !== 'In' && operator !== 'NotIn')) return undefined;
    return { operator: operator === 'In' ? 'in' : 'notin', key, values: new Set(values) };
  });

export const readLabelSelector = (sent: LabelSelectorAttributes | undefined): ReadSelector => read(sent, (text) => parseLabelSelector(text, isQualifiedName, isLabelValue), readLabelRequirement);

function read(sent: LabelSelectorAttributes | undefined, parse: (text: string) => Selector, requirementOf: (sent: SentRequirement) => Requirement | undefined): ReadSelector {
  if (!sent) return none;
  const { rawSelector: raw = '', requirements = [] } = sent;
  if (raw !== '') return readText(raw, parse);
  const known = requirements.map(requirementOf).filter((requirement) => requirement !== undefined);
  return {
    selector: known.length > 0 ? known : undefined,
    complete: known.length === requirements.length,
  };
}

function readText(text: string, parse: (text: string) => Selector): ReadSelector {
  try {
    const selector = parse(text);
    return selector.length > 0 ? { selector, complete: true } : none;
  } catch {
    return unreadable; // reported in the response
  }
}
