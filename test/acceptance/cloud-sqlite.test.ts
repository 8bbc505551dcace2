// The cloud over SQLite.
import { cloudSuite } from '../support/cloud-suite.ts';

cloudSuite(async () => []);
