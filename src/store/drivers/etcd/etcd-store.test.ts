import { etcdConformance } from '../../conformance/durable-drivers-fixture.ts';
import { openEtcdStore } from './etcd-store.ts';

etcdConformance({ name: 'etcd', open: openEtcdStore });
