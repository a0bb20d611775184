/** Names of types in expressions, which errors show. Both dialects use the published names, as for schema extensions. */
export const expressionTypes = {
  quantity: 'kubernetes.Quantity',
  url: 'kubernetes.URL',
  format: 'kubernetes.NamedFormat',
} as const;
