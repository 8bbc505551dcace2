// The limits of concurrent requests, by the current internal settings.
import { Throttle } from '#http/throttle.ts';
import type { Random } from '#ports/random.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { internalSettings } from './internal-settings.ts';

export function requestThrottles(deps: { view: ClusterView; random: Random; managerBytes: () => number }) {
  const { view, random } = deps;
  const throttle = (limit: 'restRequestLimit' | 'capiRequestLimit', wording: 'text' | 'json'): Throttle =>
    new Throttle({
      random,
      wording,
      memoryBytes: deps.managerBytes,
      limits: () => {
        const settings = internalSettings(view);
        return { requests: settings[limit], memoryMib: settings.dropRequestMemoryThresholdMiB };
      },
    });
  return { rest: throttle('restRequestLimit', 'text'), capi: throttle('capiRequestLimit', 'json') };
}
