import type { ApiObject } from '../../meta/api-object.ts';

/** Addresses of a node's range of /16 without its first and last. */
const first = 1;
const last = 2 ** 16 - 2;

/** Gives each pod of a node an address of the node's range, and takes it back when the pod is gone. */
export class PodAddresses {
  readonly #used = new Map<string, string>();
  readonly #ofPod = new Map<string, string>();
  readonly #next = new Map<string, number>();

  /** Address of a pod, by its uid; one that it says it has is kept. */
  of(uid: string, node: ApiObject, stated: string | undefined): string {
    const known = this.#ofPod.get(uid);
    if (known !== undefined) return known;
    const address = stated !== undefined && !this.#used.has(stated) ? stated : this.#free(node);
    this.#used.set(address, uid);
    this.#ofPod.set(uid, address);
    return address;
  }

  release(uid: string): void {
    const address = this.#ofPod.get(uid);
    this.#ofPod.delete(uid);
    if (address !== undefined) this.#used.delete(address);
  }

  /** Addresses are used in order, so that one that was given back rests for long. */
  #free(node: ApiObject): string {
    const { podCIDR = '10.0.0.0/16' } = (node['spec'] ?? {}) as { readonly podCIDR?: string };
    const [a = '10', b = '0'] = podCIDR.split('.');
    const start = this.#next.get(podCIDR) ?? first;
    for (let tried = 0, at = start; tried <= last; tried++, at = at >= last ? first : at + 1) {
      const address = `${a}.${b}.${at >> 8}.${at & 255}`;
      if (this.#used.has(address)) continue;
      this.#next.set(podCIDR, at >= last ? first : at + 1);
      return address;
    }
    throw new Error(`no address is free in ${podCIDR}`);
  }
}
