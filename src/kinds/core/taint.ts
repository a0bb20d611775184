import { duplicate, errorsOfEach, type FieldError, invalid, notSupportedOf, required } from '../../meta/field-error.ts';
import { isLabelValue, isQualifiedName } from '../../meta/formats.ts';
import { goText } from '../../schema/go-text.ts';
import { always, documentedEnum, type Infer, opt, ptr, string, struct, time } from '../../schema/schema.ts';

export const taint = struct('api.core.v1.Taint', 'Keeps pods that do not tolerate it off a node.', {
  key: always(1, string(), 'Key of the taint.'),
  value: opt(2, string(), 'Value of the taint.'),
  effect: always(3, documentedEnum('NoExecute', 'NoSchedule', 'PreferNoSchedule'), 'What it does: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.'),
  timeAdded: ptr(4, time(), 'When a taint with effect `NoExecute` was added.'),
});

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function validateTaints(taints: readonly Infer<typeof taint>[], field: string): FieldError[] {
  const seen = new Set<string>();
  return errorsOfEach(taints, (each, index) => {
    const identity = JSON.stringify([each.key ?? '', each.effect ?? '']);
    const isRepeated = seen.has(identity);
    seen.add(identity);
    const at = `${field}[${index}]`;
    return [...validateTaint(each, at), ...(isRepeated ? [repeated(each, at)] : [])];
  });
}

const repeated = (each: Infer<typeof taint>, field: string): FieldError => ({
  ...duplicate(field, each),
  shown: goText(taint, each),
  detail: 'taints must be unique by key and effect pair',
});

function validateTaint({ key = '', value = '', effect = '' }: Infer<typeof taint>, field: string): FieldError[] {
  const errors = isQualifiedName(key).map((problem) => invalid(`${field}.key`, key, problem));
  const valueProblems = isLabelValue(value);
  if (valueProblems.length > 0) errors.push(invalid(`${field}.value`, value, valueProblems.join(';')));
  if (effect === '') errors.push(required(`${field}.effect`));
  else if (!effects.includes(effect)) errors.push(notSupportedOf(`${field}.effect`, effect, effects));
  return errors;
}
