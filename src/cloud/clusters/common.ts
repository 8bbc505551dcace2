// Values that both versions of the clusters API share.
import { oneOf, text } from '../http/component.ts';

export const services = ['data', 'index', 'query', 'search', 'eventing', 'analytics'] as const;
export const serviceName = () => oneOf(services);
export const clusterName = () => text(2, 128);
export const serversMax = 27;

/** Where an accepted change can be watched. */
export const operationHeader = 'Divan-Operation';
