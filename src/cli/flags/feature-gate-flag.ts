import { publishedFeatureGates } from '../../dialect/published-feature-gates.ts';
import {
  defaultFeatures,
  type FeatureGate,
  type FeatureName,
  type Features,
  featureGates,
} from '../../server/wiring/features.ts';
import type { Flag } from './flags.ts';
import type { IgnoredFlag } from './published-flags.ts';

/** The value of `--feature-gates`. */
interface FeatureGateSettings {
  /** Given gates by name: ours, and published ones without effect here. */
  readonly given: ReadonlyMap<string, boolean>;
  readonly features: Features;
}

/** `AllAlpha` and `AllBeta` set every gate of a stage that is not named itself. */
const stages = { AllAlpha: 'alpha', AllBeta: 'beta' } as const;

/** `Name=true,Other=false`; repeated flags accumulate. */
export const featureGateFlag: Flag<FeatureGateSettings> = {
  isSwitch: false,
  placeholder: 'NAME=BOOL,...',
  help: `switches features on or off, all of a stage by ${Object.keys(stages).join(' and ')}; ${describeGates()}`,
  default: { given: new Map(), features: defaultFeatures },
  defaultText: '',
  parse(value, before) {
    const given = new Map(before?.given);
    for (const item of value.split(',').filter((each) => each.trim() !== '')) {
      const [, name, setting] = /^\s*(?:kube:)?([^=:\s]+)\s*=\s*(true|t|1|false|f|0)\s*$/i.exec(item) ?? [];
      if (name === undefined || setting === undefined)
        throw new Error(`${JSON.stringify(item)} is not NAME=true or NAME=false`);
      if (!Object.hasOwn(featureGates, name) && !Object.hasOwn(stages, name) && !publishedFeatureGates.has(name))
        throw new Error(`unknown name ${JSON.stringify(name)}; known: ${Object.keys(featureGates).join(', ')}`);
      const on = /^[t1]/i.test(setting);
      const gate = gateOf(name);
      if (gate?.locked && on !== gate.default)
        throw new Error(`cannot set feature gate ${name} to ${on}, feature is locked to ${gate.default}`);
      given.set(name, on);
    }
    return { given, features: featuresOf(given) };
  },
};

const gateOf = (name: string): FeatureGate | undefined =>
  Object.hasOwn(featureGates, name) ? featureGates[name as FeatureName] : undefined;

function featuresOf(given: ReadonlyMap<string, boolean>): Features {
  const [allAlpha, allBeta] = [given.get('AllAlpha'), given.get('AllBeta')];
  const settings = Object.entries(featureGates).map(([name, gate]) => {
    const ofStage = gate.stage === 'alpha' ? allAlpha : gate.stage === 'beta' ? allBeta : undefined;
    return [name, given.get(name) ?? ofStage ?? gate.default] as const;
  });
  return Object.fromEntries(settings) as Features;
}

/** Given gates without effect, and those that will go, each once. */
export const ignoredGates = ({ given }: FeatureGateSettings): readonly IgnoredFlag[] =>
  [...given.keys()].flatMap((name) => {
    const because = warningOf(name);
    return because === undefined ? [] : [{ name: `feature-gates=${name}`, because }];
  });

function warningOf(name: string): string | undefined {
  const gate = gateOf(name);
  if (gate?.stage === 'deprecated') return 'the gate is deprecated: it will be removed in a future release';
  if (gate?.locked)
    return 'the feature is generally available: the gate is deprecated, and will be removed in a future release';
  return gate || Object.hasOwn(stages, name) ? undefined : 'this server has no such feature to switch';
}

function describeGates(): string {
  const gates = Object.entries(featureGates).map(
    ([name, gate]) =>
      `${name} (${gate.stage}, ${'locked' in gate ? 'always ' : ''}${gate.default ? 'on' : 'off'}): ${gate.help}`,
  );
  return gates.join('; ');
}
