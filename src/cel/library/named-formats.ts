import { expressionTypes } from '../../dialect/expression-types.ts';
import { formatCheckOf } from '../../meta/crd-formats.ts';
import {
  type FormatCheck,
  isDns1035Label,
  isDnsLabel,
  isDnsSubdomain,
  isLabelValue,
  isQualifiedName,
  maskedPrefix,
} from '../../meta/formats.ts';
import { costPerCharacter, costPerPatternCharacter } from '../meter.ts';
import { define, defineMethod } from '../overload.ts';
import { listType, opaqueType, optionalType, stringType } from '../type.ts';
import { CelOpaque, CelOptional, optionalOf } from '../value.ts';

/** A named format of strings. Those of the same name are equal. */
class CelFormat extends CelOpaque {
  readonly typeName = expressionTypes.format;
  readonly text: string;
  readonly check: FormatCheck;
  /** Length of the pattern that the price of a check is computed with. */
  readonly patternLength: number;

  constructor(text: string, { check, patternLength }: NamedFormat) {
    super();
    this.text = text;
    this.check = check;
    this.patternLength = patternLength;
  }
}

interface NamedFormat {
  readonly check: FormatCheck;
  readonly patternLength: number;
}

/** The same check of names to which a suffix is appended. */
const prefixOf =
  (check: FormatCheck): FormatCheck =>
  (value) =>
    check(maskedPrefix(value));

/** A format that schemas have, too. */
const schemaFormat =
  (name: string, problem: string): FormatCheck =>
  (value) =>
    formatCheckOf(name)?.(value) ? [] : [problem];

function uriProblems(value: string): readonly string[] {
  if (formatCheckOf('uri')?.(value)) return [];
  return [`parse ${JSON.stringify(value)}: ${value === '' ? 'empty url' : 'invalid URI for request'}`];
}

/** Lengths are those that kube-apiserver 1.32 charges, of `uri` the most that it estimates. */
const namedFormats: Readonly<Record<string, NamedFormat>> = {
  dns1123Label: { check: isDnsLabel, patternLength: 30 },
  dns1123Subdomain: { check: isDnsSubdomain, patternLength: 60 },
  dns1035Label: { check: isDns1035Label, patternLength: 30 },
  qualifiedName: { check: isQualifiedName, patternLength: 60 },
  dns1123LabelPrefix: { check: prefixOf(isDnsLabel), patternLength: 30 },
  dns1123SubdomainPrefix: { check: prefixOf(isDnsSubdomain), patternLength: 60 },
  dns1035LabelPrefix: { check: prefixOf(isDns1035Label), patternLength: 30 },
  labelValue: { check: isLabelValue, patternLength: 40 },
  uri: { check: uriProblems, patternLength: 128 },
  uuid: { check: schemaFormat('uuid', 'does not match the UUID format'), patternLength: 70 },
  byte: { check: schemaFormat('byte', 'invalid base64'), patternLength: 84 },
  date: { check: schemaFormat('date', 'invalid date'), patternLength: 71 },
  datetime: { check: schemaFormat('datetime', 'invalid datetime'), patternLength: 71 },
};

const formatType = opaqueType(expressionTypes.format);
const formats = new Map(Object.entries(namedFormats).map(([name, format]) => [name, new CelFormat(name, format)]));

/** What is wrong with the text; none if nothing is. */
function validate({ check }: CelFormat, text: string): CelOptional {
  const problems = check(text);
  return problems.length === 0 ? CelOptional.none : new CelOptional([...problems]);
}

const validateCost = ({ patternLength }: CelFormat, text: string): number =>
  Math.ceil((1 + text.length) * costPerCharacter) * Math.ceil(patternLength * costPerPatternCharacter);

/** The format extension of kube-apiserver. */
export const namedFormatFunctions = [
  define('format.named', [stringType], optionalType(formatType), (name: string) => optionalOf(formats.get(name))),
  ...Array.from(formats, ([name, format]) => define(`format.${name}`, [], formatType, () => format)),
  defineMethod('validate', [formatType, stringType], optionalType(listType(stringType)), validate, validateCost),
];
