// Installs the programs that test/acceptance/openapi.test.ts runs, if they are missing, so that the test need not.
import { installNodeTools, installPythonTools } from '../test/support/openapi-tools.ts';

installNodeTools();
installPythonTools();
