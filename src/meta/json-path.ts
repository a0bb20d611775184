/**
 * JSON paths as in the printer columns of CustomResourceDefinitions: `.spec.nodeName`, `.metadata.labels['a.b/c']`,
 * `.items[0]`, `.items[-1]`, `.items[*].name`, `.status.conditions[?(@.type=="Ready")].status`. Only own properties
 * match. Recursive descent, slices and unions are not supported.
 */
export interface JsonPath {
  /** All values at the path, in order; empty if there are none. */
  find(value: unknown): readonly unknown[];
}

type Step = (value: unknown) => readonly unknown[];

const stepPattern =
  /\.(?<name>(?:[\w$-]|\\.)+)|\[(?:'(?<quoted>[^']*)'|"(?<doubled>[^"]*)"|(?<index>-?\d+)|(?<all>\*)|\?\(\s*@\.(?<key>[\w$.-]+)\s*(?<operator>==|!=)\s*(?:'(?<text>[^']*)'|"(?<text2>[^"]*)"|(?<literal>true|false|-?\d+(?:\.\d+)?))\s*\))\]/y;

/**
 * Parses a JSON path, with or without surrounding braces and a leading `$`. Throws TypeError if the syntax is invalid.
 */
export function parseJsonPath(text: string): JsonPath {
  const inner = text.replace(/^\{(.*)\}$/, '$1').replace(/^\$/, '');
  const pattern = new RegExp(stepPattern);
  const steps: Step[] = [];
  while (pattern.lastIndex < inner.length) {
    const match = pattern.exec(inner);
    if (!match?.groups) throw new TypeError(`${text} is not a JSON path`);
    steps.push(stepOf(match.groups));
  }
  if (steps.length === 0) throw new TypeError(`${text} is not a JSON path`);
  return { find: (value) => findAll(steps, value) };
}

function stepOf(groups: Readonly<Record<string, string | undefined>>): Step {
  const { name, quoted, doubled, index, all, key = '' } = groups;
  const member = name?.replaceAll(/\\(.)/g, '$1') ?? quoted ?? doubled;
  if (member !== undefined) return (value) => memberOf(value, member);
  if (index !== undefined) return (value) => elementsOf(value).slice(...range(Number(index)));
  if (all !== undefined) return elementsOf;
  return filterOf(key.split('.'), groups);
}

const range = (index: number): [number, number | undefined] => [index, index === -1 ? undefined : index + 1];

function filterOf(path: readonly string[], groups: Readonly<Record<string, string | undefined>>): Step {
  const wanted = groups['text'] ?? groups['text2'] ?? (JSON.parse(groups['literal'] ?? 'null') as unknown);
  const equal = groups['operator'] === '==';
  const steps = path.map(
    (name): Step =>
      (value) =>
        memberOf(value, name),
  );
  return (value) =>
    elementsOf(value).filter((element) => {
      const found = findAll(steps, element);
      return found.length > 0 && (found[0] === wanted) === equal;
    });
}

function findAll(steps: readonly Step[], value: unknown): readonly unknown[] {
  let found: readonly unknown[] = [value];
  for (const step of steps) {
    const [only] = found;
    found = found.length === 1 ? step(only) : found.flatMap(step);
    if (found.length === 0) return found;
  }
  return found;
}

function memberOf(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return [];
  const member = (value as Readonly<Record<string, unknown>>)[name];
  return member === undefined || member === null ? [] : [member];
}

function elementsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}
