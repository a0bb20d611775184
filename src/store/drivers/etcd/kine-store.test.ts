import { kineConformance } from '../../conformance/durable-drivers-fixture.ts';
import { openEtcdStore } from './etcd-store.ts';

kineConformance({ name: 'kine', open: openEtcdStore });
