import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { TimeSlice } from '../../../base/time/time-slice.ts';
import { asPod, type Pod } from '../../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { evaluatePod, reasonText } from './evaluate-pod.ts';
import { type LevelVersion, levelText } from './level-version.ts';

/** Asks how the pods of a namespace stand to the level that it is about to enforce. Plain data. */
export interface ExistingPodsQuestion {
  readonly namespace: string;
  readonly enforce: LevelVersion;
  readonly exemptRuntimeClasses: readonly string[];
  /** Domain of the keys of annotations. */
  readonly domain: string;
}

/** The pods of a namespace, each read when it is asked for. */
type Pods = Iterable<() => ApiObject>;

/** The pods that violate a level for the same reasons. */
interface Violation {
  /** The first in order of names. */
  name: string;
  count: number;
}

/**
 * Warnings about existing pods that violate a level. Of the pods of one controller the first is looked at before the rest
 * of them. Stops after `limits.podSecurityPodsMax` pods or `limits.podSecurityMsMax`, and says so.
 */
export async function warningsOfExistingPods(question: ExistingPodsQuestion, pods: Pods, clock: Clock) {
  const { namespace, enforce } = question;
  const sight = new Map<string, Violation>();
  const { checked, total } = await check(question, pods, { clock, sight });
  const reasons = [...sight].map(([reason, violation]) => `${podsText(violation)}: ${reason}`);
  const bounds = `new PodSecurity enforce level only checked against the first ${checked} of ${total} existing pods`;
  const level = JSON.stringify(levelText(enforce));
  const title = `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${level}`;
  return [...(checked < total ? [bounds] : []), ...(reasons.length > 0 ? [title] : []), ...reasons.sort()];
}

interface Check {
  readonly clock: Clock;
  readonly sight: Map<string, Violation>;
}

/** `total` leaves out exempt pods, as far as they were read. */
async function check(
  { enforce, exemptRuntimeClasses, domain }: ExistingPodsQuestion,
  pods: Pods,
  { clock, sight }: Check,
): Promise<{ readonly checked: number; readonly total: number }> {
  const slice = new TimeSlice(clock);
  const end = clock.monotonic() + limits.podSecurityMsMax;
  const isOver = (): boolean => checked >= limits.podSecurityPodsMax || clock.monotonic() >= end;
  const judge = (pod: Pod): void => {
    checked++;
    const findings = evaluatePod(enforce, {
      annotations: pod.metadata?.annotations ?? {},
      spec: pod.spec ?? {},
      domain,
    });
    if (findings.length > 0) note(sight, reasonText(findings), pod.metadata?.name ?? '');
  };
  const controllers = new Set<string>();
  const later: (() => ApiObject)[] = [];
  let [checked, total, stopped] = [0, 0, false];
  for (const read of pods) {
    total++;
    stopped ||= isOver();
    if (stopped) continue;
    const pod = asPod(read());
    const controller = pod.metadata?.ownerReferences?.find((owner) => owner.controller)?.uid;
    if (exemptRuntimeClasses.includes(pod.spec?.runtimeClassName ?? '')) total--;
    else if (controller !== undefined && controllers.has(controller)) later.push(read);
    else {
      if (controller !== undefined) controllers.add(controller);
      judge(pod);
    }
    if (slice.over) await slice.next();
  }
  for (const read of later) {
    if (isOver()) break;
    judge(asPod(read()));
    if (slice.over) await slice.next();
  }
  return { checked, total };
}

function note(sight: Map<string, Violation>, reason: string, name: string): void {
  const seen = sight.get(reason);
  if (!seen) {
    sight.set(reason, { name, count: 1 });
    return;
  }
  seen.count++;
  if (name < seen.name) seen.name = name;
}

function podsText({ name, count }: Violation): string {
  if (count === 1) return name;
  return `${name} (and ${count - 1} other ${count === 2 ? 'pod' : 'pods'})`;
}
