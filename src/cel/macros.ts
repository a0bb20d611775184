import type { CelCompileError } from './error.ts';
import type { Call, Expr, Fold, FoldOperation } from './syntax.ts';

/** Creates an error for an offset of the source. */
type Complain = (at: number, reason: string) => CelCompileError;

/**
 * The expansion of a call whose name and number of arguments are those of a macro (langdef, "Macros"; of the optional
 * types; of comprehensions over two variables). Undefined for a function call.
 */
export function expandMacro(call: Call, complain: Complain): Expr | undefined {
  const { name, target, args, at } = call;
  if (target === undefined) return name === 'has' && args.length === 1 ? expandHas(args[0], at, complain) : undefined;
  if ((name === 'optMap' || name === 'optFlatMap') && args.length === 2) {
    const [variable, body] = args as readonly [Expr, Expr];
    return {
      kind: 'optionalMap',
      at,
      target,
      variable: variableOf(variable, complain),
      body,
      flat: name === 'optFlatMap',
    };
  }
  const shape = folds.get(`${name}/${args.length}`);
  return shape === undefined ? undefined : expandFold(call, target, shape, complain);
}

function expandHas(argument: Expr | undefined, at: number, complain: Complain): Expr {
  if (argument?.kind !== 'select' || argument.mode === 'test')
    throw complain(argument?.at ?? at, 'invalid argument to has() macro');
  return { ...argument, at, mode: 'test' };
}

interface Shape {
  readonly operation: FoldOperation;
  readonly variables: 1 | 2;
  readonly filtered: boolean;
}

const shape = (operation: FoldOperation, variables: 1 | 2, filtered: 'filtered' | 'all' = 'all'): Shape => ({
  operation,
  variables,
  filtered: filtered === 'filtered',
});

/** By name and number of arguments. */
const folds: ReadonlyMap<string, Shape> = new Map([
  ['all/2', shape('all', 1)],
  ['all/3', shape('all', 2)],
  ['exists/2', shape('exists', 1)],
  ['exists/3', shape('exists', 2)],
  ['exists_one/2', shape('existsOne', 1)],
  ['existsOne/2', shape('existsOne', 1)],
  ['existsOne/3', shape('existsOne', 2)],
  ['exists_one/3', shape('existsOne', 2)],
  ['filter/2', shape('filter', 1)],
  ['map/2', shape('map', 1)],
  ['map/3', shape('map', 1, 'filtered')],
  ['transformList/3', shape('transformList', 2)],
  ['transformList/4', shape('transformList', 2, 'filtered')],
  ['transformMap/3', shape('transformMap', 2)],
  ['transformMap/4', shape('transformMap', 2, 'filtered')],
  ['transformMapEntry/3', shape('transformMapEntry', 2)],
  ['transformMapEntry/4', shape('transformMapEntry', 2, 'filtered')],
]);

function expandFold(call: Call, range: Expr, { operation, variables, filtered }: Shape, complain: Complain): Fold {
  const [first, second] = call.args.slice(0, variables).map((each) => variableOf(each, complain));
  if (first !== undefined && first === second) throw complain(call.at, 'the variables of a macro have the same name');
  const filter = filtered ? call.args.at(-2) : undefined;
  const body = call.args.at(-1) as Expr;
  return { kind: 'fold', at: call.at, operation, range, first: first ?? '', second, filter, body };
}

function variableOf(expr: Expr, complain: Complain): string {
  if (expr.kind !== 'ident') throw complain(expr.at, 'argument must be a simple name');
  return expr.name;
}
