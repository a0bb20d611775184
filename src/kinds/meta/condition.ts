import { limits } from '../../base/limits.ts';
import { duplicate, errorsOfEach, type FieldError, invalid, notSupported, required, tooLong } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import { always, type Infer, int64, opt, string, struct, time } from '../../schema/schema.ts';

/** The Condition type, for the status of other kinds. */
export const condition = struct('apimachinery.pkg.apis.meta.v1.Condition', 'One aspect of the state of an object.', {
  type: always(1, string(), 'Name of the aspect, in CamelCase or with a domain.'),
  status: always(2, string(), '`True`, `False` or `Unknown`.'),
  observedGeneration: opt(3, int64(), 'The `metadata.generation` that the condition is about.'),
  lastTransitionTime: always(4, time(), 'When the status last changed.', { documented: 'required' }),
  reason: always(5, string(), 'Machine-readable reason of the last change, in CamelCase.'),
  message: always(6, string(), 'The reason in words.'),
});

type Condition = Infer<typeof condition>;

const statuses = ['True', 'False', 'Unknown'];

const reasonFormat = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const reasonProblem =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' " +
  `(e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '${reasonFormat}')`;

/** Errors of the conditions of a status, in the words of kube-apiserver. */
export function conditionsErrors(conditions: readonly Condition[], path: string): FieldError[] {
  const types = new Set<string>();
  return errorsOfEach(conditions, (each, index) => {
    const { type = '' } = each;
    const isDuplicate = types.has(type);
    types.add(type);
    return [...(isDuplicate ? [duplicate(`${path}[${index}].type`, type)] : []), ...conditionErrors(each, `${path}[${index}]`)];
  });
}

function conditionErrors({ type = '', status = '', observedGeneration = 0, lastTransitionTime, reason = '', message = '' }: Condition, path: string): FieldError[] {
  return [
    ...isQualifiedName(type).map((problem) => invalid(`${path}.type`, type, problem)),
    ...(statuses.includes(status) ? [] : [notSupported(`${path}.status`, status, statuses)]),
    ...(observedGeneration < 0 ? [invalid(`${path}.observedGeneration`, observedGeneration, 'must be greater than or equal to zero')] : []),
    ...(lastTransitionTime ? [] : [required(`${path}.lastTransitionTime`, 'must be set')]),
    ...reasonErrors(reason, `${path}.reason`),
    ...(Buffer.byteLength(message) > limits.conditionMessageMax ? [tooLong(`${path}.message`, limits.conditionMessageMax)] : []),
  ];
}

/** Errors of the reason of a condition. */
export function reasonErrors(reason: string, path: string): FieldError[] {
  if (reason === '') return [required(path, 'must be set')];
  return [
    ...(new RegExp(`^${reasonFormat}$`).test(reason) ? [] : [invalid(path, reason, reasonProblem)]),
    ...(Buffer.byteLength(reason) > limits.conditionReasonMax ? [tooLong(path, limits.conditionReasonMax)] : []),
  ];
}
