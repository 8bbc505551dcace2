// Values that both versions of the clusters API share.
import { z } from 'zod';
import { text } from '../answers/component.ts';

export const services = ['data', 'index', 'query', 'search', 'eventing', 'analytics'] as const;
export const serviceList = <S extends z.ZodType>(service: S) =>
  z
    .array(service, 'must be a list of services')
    .min(1, 'must name at least one service')
    .refine((list) => new Set(list).size === list.length, 'must name each service once');
export const clusterName = () => text(2, 128);
export const clusterNodesMax = 27;

/** The response header with the path of the operation that carries out an accepted change. */
export const operationHeader = 'Divan-Operation';
