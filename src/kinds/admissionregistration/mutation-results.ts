import { CelFault } from '../../cel/fault.ts';
import { CelObject, CelPatchOperation, misnamedPart, toData } from '../../cel/library/mutations.ts';
import { type CelValue, isList } from '../../cel/value.ts';

/** What an expression of a mutation says, as JSON data, or why it cannot be done, in the words of kube-apiserver. */
type MutationResult<T> = { readonly type: 'value'; readonly value: T } | { readonly type: 'failed'; readonly message: string };

type Data = Readonly<Record<string, unknown>>;

/** The configuration that an expression of role `applyConfiguration` gives, without apiVersion and kind. */
export const configurationOf = (value: CelValue): MutationResult<Data> => read(value, (object) => namedData(object, 'Object') as Data);

/** The operations that an expression of role `jsonPatch` gives; `path` and `op` are still to be checked. */
export const patchOf = (value: CelValue): MutationResult<readonly Data[]> => read(value, (list) => (isList(list) ? list : []).map(operationOf));

function operationOf(value: CelValue): Data {
  if (!(value instanceof CelPatchOperation)) throw new CelFault('an operation of a JSON patch expected');
  const { fields } = value;
  const [from = '', changed] = [fields.get('from'), fields.get('value')];
  return {
    op: fields.get('op') ?? '',
    path: fields.get('path') ?? '',
    ...(from !== '' && { from }),
    ...(changed !== undefined && { value: namedData(changed, changed instanceof CelObject ? changed.typeName : '') }),
  };
}

/** The data of a value whose types must be named by their place. */
function namedData(value: CelValue, path: string): unknown {
  const misnamed = value instanceof CelObject ? misnamedPart(value, path) : undefined;
  if (!misnamed) return toData(value);
  const { found, expected } = misnamed;
  const names = `unexpected type name ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`;
  throw new CelFault(`type mismatch: ${names}, which matches field name path from root Object type`);
}

function read<T>(value: CelValue, convert: (value: CelValue) => T): MutationResult<T> {
  try {
    return { type: 'value', value: convert(value) };
  } catch (error) {
    if (!(error instanceof CelFault)) throw error;
    return { type: 'failed', message: error.reason };
  }
}
