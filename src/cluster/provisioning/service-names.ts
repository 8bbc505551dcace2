// Services that a node may be requested to run, under the names of the API.
import { availableServices } from '../config/product.ts';

const serviceNames = ['kv', 'index', 'n1ql', 'fts', 'cbas', 'eventing', 'backup'];
/** Further names of services. */
const aliases: Record<string, string> = { cbbs: 'backup' };

export interface ServicesRead {
  services: string[];
  problem: string | null;
}

/** `started`: the services that the node was started with, if others cannot be chosen. */
export function readServices(list: string, started = availableServices): ServicesRead {
  const named = list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const services = [...new Set(named.map((name) => (Object.hasOwn(aliases, name) ? aliases[name] : name)))];
  return { services: services as string[], problem: servicesProblem(services as string[], started) };
}

function servicesProblem(services: readonly string[], started: readonly string[]): string | null {
  const unknown = services.filter((name) => !serviceNames.includes(name));
  if (unknown.length > 0) return `Unknown services: ${JSON.stringify(unknown)}`;
  if (services.length === 0) return 'At least one service has to be selected';
  const missing = services.filter((name) => !availableServices.includes(name));
  if (missing.length > 0) {
    return `Services not available in this version: ${missing.join(', ')}. It runs: ${availableServices.join(', ')}`;
  }
  const notStarted = services.filter((name) => !started.includes(name));
  if (notStarted.length > 0)
    return `Services that this node was not started with: ${notStarted.join(', ')}. It runs: ${started.join(', ')}; its option --services names others`;
  return null;
}
