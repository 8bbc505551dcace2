// The cloud over its own file.
import { cloudSuite } from '../support/cloud-suite.ts';

cloudSuite(async () => []);
