import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Tells observers who asks for what, before anything is decided. Where nobody listens there is no such stage. */
export function audit({ observers }: Pick<PipelineParts, 'observers'>): readonly Stage[] {
  const identified = observers.flatMap((each) => each.identified ?? []);
  if (identified.length === 0) return [];
  return [
    {
      name: 'audit',
      run(context) {
        for (const tell of identified) tell(context);
      },
    },
  ];
}
