interface ResourceLocation {
  /** Default: `v1`, the core group. */
  readonly apiVersion?: string;
  /** Plural name: `configmaps`. */
  readonly resource: string;
  /** Absent or empty: all namespaces, or the resource is cluster-scoped. */
  readonly namespace?: string | undefined;
  /** Absent: the collection. */
  readonly name?: string | undefined;
  readonly subresource?: string;
  /** Restricts a collection: `type=Opaque`. */
  readonly fieldSelector?: string;
}

/** The path of a collection, of an object, or of its subresource (spec section 4.2), with its query. */
export function resourcePath(location: ResourceLocation): string {
  const { apiVersion = 'v1', resource, namespace = '', name, subresource, fieldSelector } = location;
  return [
    apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`,
    namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`,
    `/${resource}`,
    name === undefined ? '' : `/${encodeURIComponent(name)}`,
    subresource === undefined ? '' : `/${subresource}`,
    fieldSelector === undefined ? '' : `?fieldSelector=${encodeURIComponent(fieldSelector)}`,
  ].join('');
}
