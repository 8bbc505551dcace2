// Run by npm before tests and checks, under whichever Node there is: says what is missing instead of failing on the first import.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const isInstalled = existsSync(fileURLToPath(new URL('../node_modules/typescript', import.meta.url)));
const isNodeNewEnough = Number(process.versions.node.split('.')[0]) >= 24;
if (!isInstalled || !isNodeNewEnough) {
  console.error(
    isInstalled
      ? `Node 24 or newer is needed (this is ${process.version}).`
      : 'Run "npm ci" first: it installs what tests and checks need.',
  );
  process.exit(1);
}
