interface Address {
  readonly ip: string;
  readonly targetRef: { readonly uid: string };
}

interface Port {
  readonly name?: string;
  readonly port: number;
  readonly protocol: string;
}

/** An address with its ports: none for an address alone. */
export interface ReadyAddress {
  readonly address: Address;
  readonly isReady: boolean;
  readonly ports: readonly Port[];
  /** The same for all addresses with these ports. */
  readonly portsKey: string;
}

interface Subset {
  readonly addresses?: readonly Address[];
  readonly notReadyAddresses?: readonly Address[];
  readonly ports?: readonly Port[];
}

/** Groups addresses that have the same ports, in an order that does not depend on that of the pods. */
export function packSubsets(entries: readonly ReadyAddress[]): readonly Subset[] {
  const groups = [...Map.groupBy(entries, ({ portsKey }) => portsKey).values()].map((members) => {
    const ports = inOrder(members[0]?.ports ?? []);
    return { ports, key: JSON.stringify(ports), members };
  });
  return groups.sort((a, b) => compare(a.key, b.key)).map(({ ports, members }) => subsetOf(members, ports));
}

/** Each once. An empty name is none. */
const inOrder = (all: readonly Port[]): readonly Port[] => {
  const ports = all.map(({ name, ...port }): Port => ({ ...(name && { name }), ...port }));
  return [...new Map(ports.map((port) => [JSON.stringify(port), port])).values()].sort(
    (a, b) => compare(a.name, b.name) || a.port - b.port || compare(a.protocol, b.protocol),
  );
};

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
