import { getOrAdd } from '../../../base/collections/get-or-add.ts';

interface Address {
  readonly ip: string;
  readonly targetRef: { readonly uid: string };
}

interface Port {
  readonly name?: string;
  readonly port: number;
  readonly protocol: string;
}

/** An address with one of its ports; no port for an address alone. */
export interface ReadyAddress {
  readonly address: Address;
  readonly isReady: boolean;
  readonly port: Port | undefined;
}

interface Subset {
  readonly addresses?: readonly Address[];
  readonly notReadyAddresses?: readonly Address[];
  readonly ports?: readonly Port[];
}

/** Groups addresses that have the same ports, in an order that does not depend on that of the pods. */
export function packSubsets(entries: readonly ReadyAddress[]): readonly Subset[] {
  const places = new Map<string, { readonly entry: ReadyAddress; readonly ports: Map<string, Port> }>();
  for (const entry of entries) {
    const { address, port } = entry;
    const { ports } = getOrAdd(places, `${address.ip}/${address.targetRef.uid}`, () => ({ entry, ports: new Map() }));
    if (port) ports.set(JSON.stringify(port), port);
  }
  const groups = new Map<string, { readonly ports: readonly Port[]; readonly entries: ReadyAddress[] }>();
  for (const { entry, ports } of places.values()) {
    const inOrder = [...ports.values()].sort(
      (a, b) => compare(a.name, b.name) || a.port - b.port || compare(a.protocol, b.protocol),
    );
    getOrAdd(groups, JSON.stringify(inOrder), () => ({ ports: inOrder, entries: [] })).entries.push(entry);
  }
  return [...groups]
    .sort(([a], [b]) => compare(a, b))
    .map(([, { ports, entries: members }]) => subsetOf(members, ports));
}

function subsetOf(entries: readonly ReadyAddress[], ports: readonly Port[]): Subset {
  const of = (ready: boolean): readonly Address[] =>
    entries
      .filter(({ isReady }) => isReady === ready)
      .map(({ address }) => address)
      .sort((a, b) => compare(a.ip, b.ip) || compare(a.targetRef.uid, b.targetRef.uid));
  const [addresses, notReadyAddresses] = [of(true), of(false)];
  return {
    ...(addresses.length > 0 && { addresses }),
    ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
    ...(ports.length > 0 && { ports }),
  };
}

const compare = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0);

/** Leaves out addresses beyond a number: ones that are not ready first, of each subset in proportion. */
export function truncated(
  subsets: readonly Subset[],
  most: number,
): { readonly subsets: readonly Subset[]; readonly isTruncated: boolean } {
  const count = (field: 'addresses' | 'notReadyAddresses'): number =>
    subsets.reduce((sum, subset) => sum + (subset[field]?.length ?? 0), 0);
  const [ready, notReady] = [count('addresses'), count('notReadyAddresses')];
  if (ready + notReady <= most) return { subsets, isTruncated: false };
  const field = ready > most ? 'addresses' : 'notReadyAddresses';
  const room = ready > most ? most : most - ready;
  const total = ready > most ? ready : notReady;
  let left = room;
  const cut = subsets.map((subset) => {
    const { [field]: all = [], ...rest } = subset;
    const part = all.slice(0, Math.min(Math.ceil((all.length / total) * room), left));
    left -= part.length;
    if (field === 'addresses') delete (rest as { notReadyAddresses?: unknown }).notReadyAddresses;
    return { ...rest, ...(part.length > 0 && { [field]: part }) };
  });
  return {
    subsets: cut.filter(
      ({ addresses = [], notReadyAddresses = [] }: Subset) => addresses.length + notReadyAddresses.length > 0,
    ),
    isTruncated: true,
  };
}
