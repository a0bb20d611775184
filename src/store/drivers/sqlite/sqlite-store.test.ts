import { sqliteConformance } from '../../conformance/durable-drivers-fixture.ts';
import { openSqliteStore } from './sqlite-store.ts';

sqliteConformance({ name: 'sqlite', open: openSqliteStore });
