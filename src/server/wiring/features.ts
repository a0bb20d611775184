/** A gate of `--feature-gates`: default and maturity (spec section 9). */
interface FeatureGate {
  readonly default: boolean;
  readonly stage: 'alpha' | 'beta' | 'stable';
  readonly help: string;
}

/** Every gate of this server. Only gates with an effect are listed. */
export const featureGates = {
  AllowUnsafeMalformedObjectDeletion: {
    default: false,
    stage: 'alpha',
    help: 'remove objects that cannot be read from the store, where a deletion asks for it (spec section 3.2)',
  },
  APIResponseCompression: {
    default: true,
    stage: 'beta',
    help: 'gzip answers of GET and LIST where the client accepts it (spec section 4.3)',
  },
  RemoteRequestHeaderUID: {
    default: false,
    stage: 'alpha',
    help: 'take the uid of a user from a proxy (--requestheader-uid-headers)',
  },
  StructuredAuthenticationConfiguration: {
    default: true,
    stage: 'beta',
    help: 'read --authentication-config (spec section 5.5)',
  },
} as const satisfies Readonly<Record<string, FeatureGate>>;

export type FeatureName = keyof typeof featureGates;
export type Features = Readonly<Record<FeatureName, boolean>>;

/** Names of the enabled features. */
export const namesOfEnabled = (features: Features): ReadonlySet<string> =>
  new Set(Object.entries(features).flatMap(([name, on]) => (on ? [name] : [])));

/** Default state of all gates. */
export const defaultFeatures: Features = Object.fromEntries(
  Object.entries(featureGates).map(([name, gate]) => [name, gate.default]),
) as Features;
