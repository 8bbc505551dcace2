// Values that both versions of the clusters API share.
import { text } from '../http/component.ts';

export const services = ['data', 'index', 'query', 'search', 'eventing', 'analytics'] as const;
export const clusterName = () => text(2, 128);
export const serversMax = 27;

/** Where an accepted change can be watched. */
export const operationHeader = 'Divan-Operation';
