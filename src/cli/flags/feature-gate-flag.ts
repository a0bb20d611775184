import type { Logger } from '../../base/logger.ts';
import { publishedFeatureGates } from '../../dialect/published-feature-gates.ts';
import {
  defaultFeatures,
  type FeatureGate,
  type FeatureName,
  type Features,
  featureGates,
  stageGates,
  type WholeStage,
} from '../../server/wiring/features.ts';
import type { Flag } from './flags.ts';
import { warnOfIgnored } from './published-flags.ts';

/** The value of `--feature-gates`. */
interface FeatureGateSettings {
  /** Given gates by name: ours, and published ones without effect here. */
  readonly given: ReadonlyMap<string, boolean>;
  readonly features: Features;
  /** Stages that are switched on as such. */
  readonly wholeStages: ReadonlySet<WholeStage>;
}

/** `Name=true,Other=false`; repeated flags accumulate. */
export const featureGateFlag: Flag<FeatureGateSettings> = {
  isSwitch: false,
  placeholder: 'NAME=BOOL,...',
  help: `switches features on or off, all of a stage by ${Object.keys(stageGates).join(' and ')}; ${describeGates()}`,
  default: { given: new Map(), features: defaultFeatures, wholeStages: new Set() },
  defaultText: '',
  parse(value, before) {
    const given = new Map(before?.given);
    for (const item of value.split(',').filter((each) => each.trim() !== '')) {
      const [, name, setting] = /^\s*(?:kube:)?([^=:\s]+)\s*=\s*(true|t|1|false|f|0)\s*$/i.exec(item) ?? [];
      if (name === undefined || setting === undefined)
        throw new Error(`${JSON.stringify(item)} is not NAME=true or NAME=false`);
      const on = /^[t1]/i.test(setting);
      checkGate(name, on);
      given.set(name, on);
    }
    return { given, features: featuresOf(given), wholeStages: wholeStagesOf(given) };
  },
};

/** Throws an Error, with the message of kube-apiserver, for a name that is unknown or a gate that cannot be set so. */
function checkGate(name: string, on: boolean): void {
  if (Object.hasOwn(stageGates, name)) return;
  const published = publishedFeatureGates.get(name);
  if (!published) throw new Error(`unrecognized feature gate: ${name}; known: ${Object.keys(featureGates).join(', ')}`);
  const { lockedTo = on } = published;
  if (on !== lockedTo) throw new Error(`cannot set feature gate ${name} to ${on}, feature is locked to ${lockedTo}`);
}

const gateOf = (name: string): FeatureGate | undefined =>
  Object.hasOwn(featureGates, name) ? featureGates[name as FeatureName] : undefined;

const wholeStagesOf = (given: ReadonlyMap<string, boolean>): ReadonlySet<WholeStage> =>
  new Set(Object.entries(stageGates).flatMap(([name, stage]) => (given.get(name) ? [stage] : [])));

/** A gate of a stage sets every gate of the stage that is not named itself. */
function featuresOf(given: ReadonlyMap<string, boolean>): Features {
  const [allAlpha, allBeta] = [given.get('AllAlpha'), given.get('AllBeta')];
  const settings = Object.entries(featureGates).map(([name, gate]) => {
    const ofStage = gate.stage === 'alpha' ? allAlpha : gate.stage === 'beta' ? allBeta : undefined;
    return [name, given.get(name) ?? ofStage ?? gate.default] as const;
  });
  return Object.fromEntries(settings) as Features;
}

/** Logs a warning for each given gate that will go, with the message of kube-apiserver, and for each without effect. */
export function warnOfGates(logger: Logger, { given }: FeatureGateSettings): void {
  for (const [name, on] of given) {
    const stage = gateOf(name)?.stage;
    if (stage === 'deprecated' || stage === 'stable') {
      const called = stage === 'stable' ? 'GA' : stage;
      logger.warn(`Setting ${called} feature gate ${name}=${on}. It will be removed in a future release.`);
    } else if (stage === undefined && !Object.hasOwn(stageGates, name)) {
      warnOfIgnored(logger, [{ name: `feature-gates=${name}`, because: 'the gate switches nothing here' }]);
    }
  }
}

function describeGates(): string {
  const gates = Object.entries(featureGates).map(
    ([name, gate]) =>
      `${name} (${gate.stage}, ${'locked' in gate ? 'always ' : ''}${gate.default ? 'on' : 'off'}): ${gate.help}`,
  );
  return gates.join('; ');
}
