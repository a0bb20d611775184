import type { Dialect } from '../../dialect/dialect.ts';
import { ingressClassAnnotation } from '../../kinds/networking/ingress.ts';
import { ingressSchema } from '../../kinds/networking/ingress-schema.ts';
import { typed } from '../../kinds/typed.ts';
import { nameOf } from '../../meta/api-object.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { type DefaultedClasses, withFound } from './classes.ts';
import { writesResource } from './concerned-resource.ts';

interface DefaultIngressClassOptions {
  readonly dialect: Dialect;
  readonly classes: Pick<DefaultedClasses, 'byDefault'>;
}

/** New ingresses that name no class, by field or annotation, get the default one. */
export function defaultIngressClass({ dialect, classes }: DefaultIngressClassOptions): AdmissionPlugin {
  const ingresses = { group: dialect.group('networking'), resource: 'ingresses' };
  const annotation = ingressClassAnnotation(dialect);
  return {
    name: 'DefaultIngressClass',
    sideEffects: 'none',
    concerns: (attributes) => attributes.operation === 'create' && writesResource(attributes, ingresses),
    mutate(attributes) {
      const { object } = attributes;
      if (!object) return;
      const ingress = typed(ingressSchema, object);
      if (ingress.spec?.ingressClassName !== undefined) return;
      if (Object.hasOwn(object.metadata.annotations ?? {}, annotation)) return;
      return withFound(classes.byDefault(attributes), (found) => {
        if (found) ingress.spec = { ...ingress.spec, ingressClassName: nameOf(found) };
      });
    },
  };
}
