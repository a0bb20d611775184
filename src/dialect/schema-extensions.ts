/**
 * Extensions inside the schemas of custom resources. Both dialects use the published names: clients and generators have them
 * compiled in.
 */
export const schemaExtensions = {
  preserveUnknownFields: 'x-kubernetes-preserve-unknown-fields',
  embeddedResource: 'x-kubernetes-embedded-resource',
  intOrString: 'x-kubernetes-int-or-string',
  listType: 'x-kubernetes-list-type',
  listMapKeys: 'x-kubernetes-list-map-keys',
  mapType: 'x-kubernetes-map-type',
  validations: 'x-kubernetes-validations',
} as const;
