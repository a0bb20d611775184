import type { Dialect } from '../../dialect/dialect.ts';
import { asPod } from '../../kinds/core/pod/pod-schema.ts';
import type { Toleration } from '../../kinds/core/pod/toleration.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { writesPod } from './concerned-pods.ts';
import type { TolerationSeconds } from './plugin-configurations.ts';

interface DefaultTolerationSecondsOptions {
  readonly dialect: Dialect;
  readonly seconds: TolerationSeconds;
}

/** Pods leave nodes that are not ready or unreachable after some time; those that say when are left alone. */
export const defaultTolerationSeconds = ({ dialect, seconds }: DefaultTolerationSecondsOptions): AdmissionPlugin => ({
  name: 'DefaultTolerationSeconds',
  sideEffects: 'none',
  concerns: writesPod,
  mutate({ object }) {
    const spec = object && asPod(object).spec;
    if (!spec) return;
    const tolerations = spec.tolerations ?? [];
    const added = (['notReady', 'unreachable'] as const)
      .map((taint) => ({ key: `node.${dialect.domain}/${taintNames[taint]}`, tolerationSeconds: seconds[taint] }))
      .filter(({ key }) => !tolerations.some((each) => tolerates(each, key)));
    if (added.length === 0) return;
    const defaults = added.map((each): Toleration => ({ operator: 'Exists', effect: 'NoExecute', ...each }));
    spec.tolerations = [...tolerations, ...defaults];
  },
});

const taintNames = { notReady: 'not-ready', unreachable: 'unreachable' } as const;

const tolerates = ({ key, effect }: Toleration, taint: string): boolean =>
  (!key || key === taint) && (!effect || effect === 'NoExecute');
